"""``bench blocks``: the block layout beside the cell layout and other engines. Read ``run.py`` first."""
