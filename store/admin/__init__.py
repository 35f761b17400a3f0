"""Accumulo's administration: tables, labels, scan sessions, tablet servers. Read ``tables.py`` first."""
