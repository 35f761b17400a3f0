"""``bench encodings``: compares ways to store a block's columns. Read ``run.py`` first."""
