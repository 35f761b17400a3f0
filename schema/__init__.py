"""Sources and their fields, the filter language, times, settings and errors: the terms of every other room.

Read ``source.py`` and ``filter/tree.py`` first.
"""
