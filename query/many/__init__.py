"""Queries of several sources at once: their events in one stream, newest first.

``selection.py`` chooses the sources, ``prepare.py`` plans each of them and sets up query batches that are common to
all, ``columns.py`` brings their events into common columns or ``own_columns.py`` makes an object of each, and
``merge.py`` merges them.
"""
