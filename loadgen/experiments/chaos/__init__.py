"""``bench chaos``: loads, compactions and queries while processes are killed, paused and restarted (``run.py``)."""
