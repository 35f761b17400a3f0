"""``bench encodings``: how a block's columns are stored. Read ``run.py`` first."""
