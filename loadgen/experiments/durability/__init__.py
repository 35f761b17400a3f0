"""``bench durability``: what it costs that a write outlives more. Read ``run.py`` first."""
