"""Commands that read events and counts: a running service of the same user answers them, else this process does.

Read ``ask.py`` first. ``answering.py`` makes what is printed, for both; the service sends it in parts (``parts.py``).
"""
