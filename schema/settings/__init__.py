"""All settings of a process, and where their values come from. Read ``settings.py`` first, then ``load.py``."""
