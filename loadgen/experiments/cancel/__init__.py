"""``bench cancel``: how soon a cancelled query leaves nothing behind. Read ``run.py`` first."""
