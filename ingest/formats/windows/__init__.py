"""Windows events as JSON lines: ``format.py`` is the format, ``windows.py`` its parser, ``names.py`` has the names."""
