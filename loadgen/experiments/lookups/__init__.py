"""``bench lookups``: bulk writes by codec, and look-ups of random rows. Read ``run.py`` first."""
