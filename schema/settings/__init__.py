"""The settings of a process and the reading of their values. Read ``settings.py`` first, then ``load.py``."""
