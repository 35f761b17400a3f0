"""The figures that four studies published, for reports to show beside ours. Read ``read_published.py``."""
