"""What is downloaded: pictures, numbers, tables and pages that open offline."""
