"""``bench ceiling``: a worker beside a plain loop of writes. Read ``run.py`` first."""
