"""Result formats: a writer per file (NDJSON, CSV, Arrow, table), and escapes that make text safe on a terminal.

Read ``writers.py`` first: it chooses the writer and opens the output.
"""
