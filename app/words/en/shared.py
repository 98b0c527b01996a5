"""Everywhere: the sidebar, progress, and the cost strip."""

WORDS = {
    "starting": "Starting: PyTorch and the model libraries load once, about ten seconds.",
    "nav_text": "Text",
    "nav_image": "Image",
    "nav_clip": "CLIP",
    "device": "Device",
    "device_help": "Where the model runs; auto is the fastest that this machine has.",
    "precision": "Precision",
    "precision_help": "The number type of weights and activations; maps are float32 in any case.",
    "mechanism": "Mechanism",
    "mechanism_help": "What every attention call of the pretrained model is routed to. "
    "The model's own leaves its kernel alone.",
    "unavailable": "{title}: unavailable: {reason}",
    "mechanism_link": "The address names the mechanism “{name}”; there are {names}.",
    "mechanism_lost": "{title}, your choice, cannot run with this device and precision: "
    "the model's own runs in its place.",
    "mechanism_own": "the model's own",
    "mechanism_own_cost": "every call as the model makes it",
    "mechanism_missing": "{count} more cannot run here",
    "palette": "Palette",
    "palette_help": "Perceptually even, and safe for colour-blind eyes.",
    "model": "Model",
    "model_help": "Choose one of the list, or type the usual name of any model of transformers, "
    "timm or open_clip, or a local folder with safetensors.",
    "from_hub": "{title} (from the hub)",
    "run": "Run",
    "cancel": "Cancel",
    "samples": "Samples",
    "cancelled": "Cancelled. What you gave is kept: press Run to start again.",
    "stale": "What follows is of the last run that worked.",
    "waiting": "Waiting: {ahead} before you on this machine.",
    "opening": "Opening the pictures",
    "time_left": "{text} · about {left} left",
    "fetching": "Fetching the weights of {name}",
    "loading": "Loading {name}",
    "running": "Running {name}",
    "compiling": "Running {name}; the mechanism compiles what it meets first, 3 to 15 seconds each",
    "drawing": "Drawing every head",
    "measuring_share": "Measuring time and memory: {share:.0%}",
    "failed": "Something went wrong here, and it has been written to the log. "
    "Change the input or the model and press Run.",
    "cost": "**{model}** · {size} · {kernel} · {time} · attention {attention} · "
    "pass {whole} · kept {kept} · {verified}",
    "cost_cancelled": "**{model}** · {size} · cost not measured: cancelled.",
    "image_folder": "A whole folder",
    "image_folder_help": "Choose a folder, or drop one: all pictures in it and in its folders.",
    "gallery_refused": "Pictures that could not be read: {count}.",
    "gallery_refused_more": "… and {count} more.",
    "gallery_refused_seen": "Seen",
    "present": "Present",
    "present_help": "For a beamer: larger letters, without the sidebar and the choices. It stays "
    "in the address; this switch is the way back.",
    "about": "What am I looking at?",
    "about_close": "Close",
    "about_text": "A transformer reads text in layers of heads. Each head takes one token, the "
    "**query**, and spreads a weight of 1 over the tokens it may use, the **keys**. Rows are "
    "queries, columns are keys; the stronger a cell stands out, the larger its weight. "
    "[CLS] and [SEP] are marks that the model adds itself.",
    "about_image": "A vision transformer cuts a picture into **patches**. Each head of each layer "
    "takes one patch, the **query**, and spreads a weight of 1 over all patches. Click a patch to "
    "make it the query. Colour is weight. **CLS** is an extra position that stands for the whole "
    "picture.",
    "about_clip": "CLIP turns pictures and labels into vectors of one space. The **cosine** says "
    "how close two of them lie; the **probability** shares 100 % between your labels, so add one "
    "for everything else. “Why” shows which patches a score comes from.",
    "about_lab": "Attention can be computed in many ways. Here the same queries, keys and values "
    "go through each: how long it takes, how much memory, and how far its map is from softmax "
    "attention, the exact one. **Total variation** 0 is the same map, 1 shares nothing.",
    "upload_lost": "A file that was uploaded is no longer on the server: choose it again.",
    "cost_help": "Kernel that really ran; median of {passes} forward passes ± half the distance "
    "between the quartiles; the most memory one attention call holds; the most the whole pass "
    "holds; what the recorded q and k take; and the largest difference between softmax(qk)v, "
    "rebuilt from q and k, and what the kernel gave.",
    "cost_verified": "verified {error}",
    "cost_unverified": "not verified",
    "cost_one_pass": "{time} (one pass)",
    "cost_unknown": "not measured",
    "cost_failed": "The cost could not be measured; the reason is in the log.",
    "against": "against the model's own ({time}): {speed} · {memory} · output cosine {cosine:.3f}",
    "against_help": "Both were timed in turn in one process: the median of the ratios of pairs "
    "with its quartiles (not the ratio of the two medians), then the peak memory of one attention "
    "call, then the cosine of the final hidden states (1 is no drift).",
    "against_untested": "{name} attends as softmax does here, so nothing of what it leaves out was "
    "tested: take an input longer than it reaches.",
    "against_layers": "Which layers bear it? See the Lab",
    "faster": "{ratio:.2g} x faster, median of pairs ({low:.2g} to {high:.2g})",
    "slower": "{ratio:.2g} x slower, median of pairs ({low:.2g} to {high:.2g})",
    "speed_busy": "this machine is too busy to tell ({low:.2g} to {high:.2g} x as fast)",
    "cost_memory_kept": "freed memory is kept: a plain process takes longer",
    "speed_same": "no difference in time ({low:.2g} to {high:.2g})",
    "memory_same": "the same memory",
    "less_memory": "{ratio:.2g} x less memory",
    "more_memory": "{ratio:.2g} x more memory",
}
