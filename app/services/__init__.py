"""Services: what all visitors share, and the only home of Streamlit's caches; all bounded."""
