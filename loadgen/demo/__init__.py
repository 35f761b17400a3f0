"""``watchfloor demo``: the tour (``demo``) and the real logs that it loads (``sample_logs``). Read ``demo`` first."""
