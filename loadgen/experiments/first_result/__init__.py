"""``bench first-result``: the time to a query's first rows. Read ``run.py`` first."""
