"""Lines of any text, taken apart by named patterns: ``format.py`` is the format, ``text.py`` its parser."""
