"""The Extended Log File Format of the W3C: ``format.py`` is the format, ``elff.py`` its parser."""
