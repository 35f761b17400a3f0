"""``bench batching``: compares batching policies. Read ``run.py`` first."""
