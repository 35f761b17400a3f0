"""``bench security``: what each level of security costs. Read ``run.py`` first."""
