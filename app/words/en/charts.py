"""Inside charts."""

WORDS = {
    "chart_cell": "{row} looks like “{column}”:<br>{numbers}",
    "chart_pair": "“{row}” and “{column}”:<br>{numbers}",
    "chart_bar": "“{label}”:<br>{numbers}",
    "chart_spread": "the templates differ by {value:.3f}<br>(standard deviation)",
    "chart_cosine": "cosine {value:.3f}",
    "chart_probability": "probability {value}",
    "chart_percent": "{value} %",
    "chart_percent_least": "&lt;0.001 %",
    "chart_percent_most": "&gt;99.9 %",
    "chart_cell_cosine": "%{y} · %{x}: %{z:.3f}<extra></extra>",
    "chart_cell_probability": "%{y} · %{x}: %{z:.2p}<extra></extra>",
    "chart_block_cosine": "%{{y}} · %{{x}}, and what follows:<br>largest of {rows} x {columns} "
    "cells %{{z:.3f}}<extra></extra>",
    "chart_block_probability": "%{{y}} · %{{x}}, and what follows:<br>largest of {rows} x "
    "{columns} cells %{{z:.2p}}<extra></extra>",
    "chart_pooled": "Too many cells to draw one by one: each one drawn is the largest of a block, "
    "{rows} down and {columns} across, with the names of its first row and column.",
    "chart_thinned": "Where names have no room, every n-th is written; hover tells the others.",
    "chart_too_many": "At most {most:,} pictures or labels can be compared among themselves; "
    "{count:,} came: take fewer, or compare pictures with texts.",
    "chart_cosine_axis": "cosine",
    "chart_probability_axis": "probability",
}
