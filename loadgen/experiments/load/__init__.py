"""``bench load``: the command ``watchfloor load`` from its start to its end. Read ``run.py`` first."""
