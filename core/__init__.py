"""Headlight's library: what every attention head of a real transformer looks at, and what it costs.

Nothing in here imports Streamlit: it serves a notebook and a shell (`python -m core`) as well.
"""
