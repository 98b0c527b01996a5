"""Inside charts."""

WORDS = {
    "chart_cell": "{row} looks like “{column}”:<br>{numbers}",
    "chart_pair": "“{row}” and “{column}”:<br>{numbers}",
    "chart_bar": "“{label}”: {numbers}",
    "chart_spread": "the templates differ by {value:.3f} (standard deviation)",
    "chart_cosine": "cosine {value:.3f}",
    "chart_probability": "probability {value:.3f}",
    "chart_cell_rough": "%{y} · %{x}: %{z:.3f}<extra></extra>",
    "chart_cosine_axis": "cosine",
    "chart_probability_axis": "probability",
}
