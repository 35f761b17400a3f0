"""Index and counts, whatever the layout: rows, entries, and how they are read. Read ``index_rows.py`` first."""
