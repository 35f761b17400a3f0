"""``bench batching``: what batching policies are worth. Read ``run.py`` first."""
