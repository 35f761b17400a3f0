"""Blocks as they are stored: their keys, how they are written and read. Read ``block_keys.py`` first."""
