"""Suricata's EVE JSON: ``format.py`` is the format, ``eve.py`` its parser."""
