"""The command ``watchfloor``. Read ``main.py`` first. Each file in ``commands/`` is a group of commands."""
