"""Charts: arrays in, Plotly figure out; no Streamlit inside."""
