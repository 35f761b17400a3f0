"""``bench cancel``: the time until a cancelled query leaves nothing behind. Read ``run.py`` first."""
