"""The image page."""

WORDS = {
    "image_title": "Image: which patches does each head look at?",
    "image_add": "Add pictures",
    "gallery_remove": "Click a name to remove it",
    "image_forget": "Remove my pictures",
    "image_upload": "Your pictures",
    "image_upload_help": "PNG, JPEG, GIF, WebP, BMP, TIFF, AVIF or HEIC, up to 50 MB each.",
    "image_camera": "Camera",
    "image_paste": "Paste a picture",
    "image_paste_hint": "or press Ctrl+V on this page",
    "image_paste_none": "There is no picture on the clipboard.",
    "image_pick": "Picture",
    "image_size": "{rows} x {columns} patches{prefix}",
    "image_stage": "Stage",
    "image_stage_help": "Each stage reads the picture in larger patches. A patch looks at those in "
    "its own window; every other layer moves the windows by half of their size.",
    "image_windows": "Tokens that are no patch look at the whole picture; click a patch to see its "
    "window.",
    "image_query": "Query",
    "image_query_help": "Whose weights are shown; clicking a patch makes it the query.",
    "image_direction": "Direction",
    "image_from": "attends to",
    "image_to": "is attended to by",
    "image_table": "Table",
    "image_table_help": "The weights of the chosen head for this query, as numbers.",
    "image_position": "position",
    "image_labels": "Labels: {labels}",
}
