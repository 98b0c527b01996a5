"""The lab page."""

WORDS = {
    "nav_lab": "Lab",
    "lab_title": "Lab: what does each mechanism cost, and what does it do to the map?",
    "lab_arms": "Mechanisms",
    "lab_arms_help": "All are measured in turn, round by round, on queries, keys and values of "
    "the same sizes, each in a process of its own, as a script that does nothing else would.",
    "lab_source": "Queries, keys and values",
    "lab_source_help": "Random ones, or those of a layer of a model that reads what you give.",
    "lab_source_random": "random",
    "lab_source_sentence": "my sentence",
    "lab_source_picture": "my picture",
    "lab_text": "Your text",
    "lab_text_help": "The model reads all of it as one text, up to the length that it takes.",
    "lab_taken": "{length:,} positions, {heads} heads of {dim}",
    "lab_taken_grouped": "{length:,} positions, {heads} heads of {dim} that share {kv_heads} heads "
    "of keys and values",
    "lab_taken_causal": "causal",
    "lab_taken_masked": "with a mask",
    "lab_after_run": "The model reads it when this run has ended; Run ends it now.",
    "lab_longest": "Longest input",
    "lab_longest_help": "Positions; shorter ones, each half as long, are measured too.",
    "lab_heads": "Heads",
    "lab_dim": "Head dimension",
    "lab_batch": "Batch",
    "lab_rounds": "Rounds",
    "lab_rounds_help": "Samples of each mechanism at each length; 5 are the least for a median "
    "with a spread.",
    "lab_threads": "Threads",
    "lab_threads_help": "Of the processor, for the measuring process; this machine has {cores}.",
    "lab_seed": "Seed",
    "lab_most_seconds": "Time limit, s",
    "lab_most_seconds_help": "A run that would take longer is refused before it starts.",
    "lab_lengths": "Lengths of your own",
    "lab_lengths_help": "Positions, in place of those of the slider.",
    "lab_causal": "Causal",
    "lab_backward": "Training step too",
    "lab_backward_help": "Forward and backward, with and without checkpointing.",
    "lab_keep_memory": "Keep freed memory",
    "lab_keep_memory_help": "Off: PyTorch's default, what a plain process pays. On: memory that "
    "was freed stays for the next call, which spares page faults; another measurement.",
    "lab_memory_kept": "Measured with freed memory kept: a plain process takes longer.",
    "lab_busy": "**This machine is too busy to tell: {points}.** Rounds of the same work differed "
    "so much, even when they were repeated, that these times mean little. Close other programs, "
    "and press Run again.",
    "lab_untested": "{name}: at {length:,} positions it reaches every key and gives softmax's own "
    "map, so nothing of what it leaves out was tested.",
    "lab_map_untested": "softmax's own map: it reaches all {length} positions here, so nothing of "
    "what it leaves out was tested",
    "lab_precision": "Precision and device are those of the sidebar.",
    "lab_stale": "What follows is of the last run: press Run for what is chosen now.",
    "lab_running": "About {time}, {memory} of memory in all.",
    "lab_sizes": "Sizes",
    "lab_run": "Run",
    "lab_starting": "Starting the measuring process",
    "lab_estimate": "About {time}, {memory} of memory.",
    "lab_waiting": "Waiting: {ahead} before you on this machine. You may leave by Cancel.",
    "lab_progress": "{doing} · {share:.0%}",
    "lab_cancelled": "Cancelled: what was measured until then is shown.",
    "lab_empty": "Choose mechanisms and a length, and press Run.",
    "lab_time": "Time",
    "lab_memory": "Peak memory",
    "lab_time_help": "Dashed: the time below which this machine cannot do it, from its rates of "
    "matrix products and copies. A ring: as long as the one that all are compared with.",
    "lab_time_help_one": "Stroke: the time below which this machine cannot do it, from its rates "
    "of matrix products and copies.",
    "lab_memory_help_one": "Stroke: what the formula says.",
    "lab_memory_help": "Dashed: what the formula says.",
    "lab_limit_hover": "limit",
    "lab_formula_hover": "by formula",
    "lab_crossing_hover": "%{{x:,.0f}} {unit}: as long as the one compared with",
    "lab_cheaper_from": "{name} is cheaper than {base} from {at:,.0f} {unit} on {between}.",
    "lab_cheaper_up_to": "{name} is cheaper than {base} up to {at:,.0f} {unit} {between}.",
    "lab_cheaper_meets": "{name} meets {base} at {at:,.0f} {unit} {between}; at {longest:,} the "
    "two cannot be told apart.",
    "lab_cheaper_changes": "{name} and {base} take turns at being cheaper from {first:,.0f} to "
    "{last:,.0f} {unit}: there they cost about the same.",
    "lab_cheaper_always": "{name} is cheaper than {base} at all lengths measured, {shortest:,} to "
    "{longest:,}.",
    "lab_cheaper_never": "{name} costs more than {base} at all lengths measured, {shortest:,} to "
    "{longest:,}.",
    "lab_cheaper_same": "{name} and {base} cannot be told apart at {longest:,} {unit}.",
    "lab_cheaper_beyond": "Their fitted curves meet at about {at:,}, where nothing was measured.",
    "lab_between": "(between {low:,.0f} and {high:,.0f})",
    "lab_between_from": "(from {low:,.0f}, up to a length beyond those measured)",
    "lab_between_to": "(up to {high:,.0f}, from a length below those measured)",
    "lab_between_unknown": "(how uncertain that is, the lengths measured do not tell)",
    "lab_drawing": "Drawing the maps",
    "lab_maps": "The same head by every mechanism",
    "lab_maps_random": "Random queries and keys, {length} positions, the same for all",
    "lab_maps_given": "{model}, layer {layer}, {length:,} positions: {label}",
    "lab_maps_pooled": " · each cell: the largest weight of {cell} x {cell} positions",
    "lab_map_variation": "total variation {variation:.3f}",
    "lab_map_variation_same": "the same map, total variation 0 to rounding",
    "lab_maps_hint": "Rows are queries, columns are keys; one scale for all. Click a row to pin it "
    "in all maps. Total variation: half of the sum of |weight - softmax weight|, mean of the rows "
    "of this head.",
    "lab_maps_head": "head {head}",
    "lab_maps_downloads": "Download the maps",
    "lab_time_axis": "milliseconds of a forward call",
    "lab_memory_axis": "MB beyond the inputs",
    "lab_unit": "positions",
    "lab_unit_batch": "sequences at a time",
    "lab_phase": "Phase",
    "lab_phase_help": "Prefill: as many queries as keys. Decode: one query against a cache of keys "
    "and values, as each new token of a decoder has it.",
    "lab_phase_prefill": "prefill",
    "lab_phase_decode": "decode",
    "lab_preset": "Sizes of a model",
    "lab_preset_own": "my own",
    "lab_preset_help": "Heads, key-value heads, dimension and causality of one layer; lengths stay "
    "yours.",
    "lab_preset_source": "{title}: {length:,} positions are usual. Source: {source}.",
    "lab_kv_heads": "Key-value heads",
    "lab_kv_heads_help": "That the heads share; 0: each head has its own.",
    "lab_batches": "Batches of your own",
    "lab_batches_help": "Swept at the longest input, in place of lengths.",
    "lab_tokens": "tokens / s",
    "lab_flops": "GFLOP/s",
    "lab_share": "of this machine's products",
    "lab_before": "Lay a saved run beside this one",
    "lab_before_label": "The saved run, a JSON file",
    "lab_before_help": "A JSON file that was downloaded here, or written by `bench attention "
    "--out`, today or on another machine.",
    "lab_before_file": "{name}: {device}, {threads} threads, PyTorch {torch}. Dotted in the "
    "charts.",
    "lab_before_line": "{title}, saved",
    "lab_before_none": "The two runs have no mechanism and sizes in common: only the charts "
    "show both.",
    "lab_before_help_table": "Ratio: the median time of this run / that of the saved one. They "
    "were not measured in turn, so there is no interval.",
    "lab_exponent": " (N^{exponent:.2f}±{error:.2f})",
    "lab_at": "At",
    "lab_positions": "{length:,} {unit}",
    "lab_mechanism": "mechanism",
    "lab_milliseconds": "ms",
    "lab_ratio": "time / {base}, median of pairs",
    "lab_quartiles": "its quartiles",
    "lab_limit": "share of the limit",
    "lab_growth": "time exponent",
    "lab_peak": "MB measured",
    "lab_formula": "MB by formula",
    "lab_variation": "total variation",
    "lab_error": "output error",
    "lab_entropy": "row entropy, nats",
    "lab_differs": "Memory of {name} at {length:,} {unit}: {measured} measured, {formula} by "
    "the formula, which leaves something out there.",
    "lab_noise": "Noise floor: {name} takes {low:.3f} to {high:.3f} of its own time.",
    "lab_table_help": "Each ratio is the median of the ratios of all rounds, not the ratio of the "
    "two medians. Limit: the time below which this machine cannot do it, from its rate of "
    "matrix products and of copies. Total variation: half of the sum of |weight - softmax weight|, "
    "mean of the rows of all heads, 0 to 1. Output error: relative to softmax attention in "
    "float64.",
    "lab_downloads": "Download the measurements",
}
