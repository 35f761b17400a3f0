"""``bench crossover``: index and scan by density. Read ``run.py`` first."""
