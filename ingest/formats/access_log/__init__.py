"""Web servers' access logs: ``format.py`` is the format, ``access_log.py`` its parser."""
