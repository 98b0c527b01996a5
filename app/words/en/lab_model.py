"""The section of the lab page that measures a whole model."""

WORDS = {
    "lab_section": "What is measured",
    "lab_section_help": "One call of attention on random numbers, over many lengths; or a model "
    "as it is, reading what you give it.",
    "lab_section_call": "One attention call",
    "lab_section_model": "A whole model",
    "lab_whole_about": "Every mechanism takes the place of the model's own attention: in all "
    "layers, in those that you choose, and in each layer by itself.",
    "lab_whole_reads": "It reads",
    "lab_whole_reads_help": "A typed name does not tell whether the model reads texts or pictures.",
    "lab_whole_reads_text": "a text",
    "lab_whole_reads_vision": "a picture",
    "lab_whole_text": "Text",
    "lab_whole_text_help": "Read as one text. Windows and other patterns do something only where "
    "it is longer than they are.",
    "lab_whole_sample": "On the long table by the window lay a map of the coast, held flat by two "
    "cups and a stone. Every evening the keeper drew on it what the day had shown her: a line "
    "where the tide had moved the sand, a small cross where a boat had asked for the way, a "
    "number for the wind. Nobody had told her to do it. When her brother came in autumn to mend "
    "the roof, he laughed at the crosses and said that the sea would not stay where she put it. "
    "She gave him soup and did not answer. In the last week of November the lamp failed for the "
    "first time in eleven years. A ship with timber was already behind the point, and the rocks "
    "there are older than any chart. She looked at the map, counted the crosses of that month, "
    "and saw that every boat had passed close under the cliff, where the sand had left a channel. "
    "So she took the stone, went down with a lantern to the place of the last cross, and stood "
    "there until the ship had turned. In the morning her brother found her asleep over the table. "
    "The cups were cold, and on the map there was a new line, drawn with care, from the point to "
    "the harbour. He put the stone back on its corner, and this time he did not laugh at it.",
    "lab_whole_mechanisms": "Mechanisms",
    "lab_whole_mechanisms_help": "Those that can run here. All are measured in turn, beside the "
    "model's own attention.",
    "lab_whole_range": "Layers, from and to",
    "lab_whole_range_help": "Counted from 0. Of a part of them, both the part and the whole are "
    "measured.",
    "lab_whole_unknown": "Layers can be chosen once this model has run.",
    "lab_whole_run": "Run",
    "lab_whole_empty": "Choose a model and mechanisms, and press Run.",
    "lab_whole_progress": "Measuring {model} · {share:.0%}",
    "lab_whole_left": "Measuring {model} · {share:.0%} · about {left} left",
    "lab_whole_cancelled": "Cancelled: what was measured until then is shown.",
    "lab_whole_nothing": "Cancelled before anything was measured.",
    "lab_whole_stale": "Of other choices than those above: press Run to measure these.",
    "lab_whole_line": "{model} · {positions:,} positions · {layers} layers · {where}, {precision} "
    "· own attention {time} · {passes}",
    "lab_whole_rounds": "{rounds} rounds in turn",
    "lab_whole_once": "each pass timed once after a warm-up, as one takes more than {slow:.0f} s; "
    "memory not measured",
    "lab_whole_table": "What each mechanism costs and moves",
    "lab_whole_mechanism": "mechanism",
    "lab_whole_own": "model's own",
    "lab_whole_layers": "layers",
    "lab_whole_milliseconds": "ms",
    "lab_whole_ratio": "time / own",
    "lab_whole_quartiles": "quartiles",
    "lab_whole_peak": "peak MB",
    "lab_whole_cosine": "cosine",
    "lab_whole_error": "relative error",
    "lab_whole_first": "first prediction",
    "lab_whole_stayed": "{label} {probability:.2f}",
    "lab_whole_changed": "{now} ({label}: {own})",
    "lab_whole_out": "not in the first few",
    "lab_whole_cpu": "CPU",
    "lab_whole_cuda": "GPU",
    "lab_whole_mps": "Apple GPU",
    "lab_whole_scale": "1 - cosine",
    "lab_whole_title": "{model}: drift with one layer routed",
    "lab_whole_table_help": "Cosine and relative error: of the {what} with those of the model's "
    "own attention, mean of positions; 1 and 0 are no drift. Time: a forward pass that records "
    "nothing. Peak: the most that a pass holds at one time beyond weights and input.",
    "lab_whole_bearing": "Which layers bear it?",
    "lab_whole_bearing_help": "Each cell: one layer by itself goes through the mechanism, all "
    "others keep the model's own attention. The number is the drift of the {what}, 1 - cosine: 0 "
    "is none.",
    "lab_whole_layer_axis": "layer",
    "lab_whole_cell": "{layer} by itself through {mechanism}:<br>cosine {cosine}, drift {drift}",
    "lab_whole_cell_refused": "{layer} through {mechanism}: refused",
    "lab_whole_refused_sign": "-",
    "lab_whole_exact": "Exact mechanisms are not in the picture: in all layers at once they move "
    "the output by rounding only, as the table shows.",
    "lab_whole_use": "What the chosen layers cost and move",
    "lab_whole_downloads": "Download the measurements",
    "lab_whole_first_help": "First prediction: the likeliest; in brackets what the model's own "
    "first one has now.",
}
