"""The command ``watchfloor``. Read ``main.py`` first; a group of commands is a file of ``commands/``, found there."""
