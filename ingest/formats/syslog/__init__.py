"""Syslog, RFC 3164 and 5424, with and without priority: ``format.py`` is the format, ``syslog.py`` its parser.

The program of a line tells its source; the source's patterns take the message apart.
"""
