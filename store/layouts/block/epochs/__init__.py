"""Views of blocks that are being replaced, and the epochs that replace them. Read ``block_view.py`` first."""
