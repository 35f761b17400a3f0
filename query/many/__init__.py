"""Queries of several sources at once: their events in one stream, newest first.

``selection.py`` chooses the sources, ``prepare.py`` plans each of them and sets up query batches that are common to
all, ``columns.py`` brings their events into common columns, and ``merge.py`` merges them.
"""
