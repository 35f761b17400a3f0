"""What queries see of blocks that are being replaced. Read ``block_view.py`` first, then ``epochs.py``."""
