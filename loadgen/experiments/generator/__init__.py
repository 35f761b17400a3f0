"""``bench generator``: the speed at which events are generated. Read ``run.py`` first."""
