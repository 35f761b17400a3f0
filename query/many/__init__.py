"""Queries of several sources at once: their events in one stream, newest first.

``selection.py`` chooses the sources. ``match_bounds.py`` finds by the table of sightings where matches can be, and
``parts.py`` plans each source when it is needed. ``prepare.py`` sets up query batches that are common to all,
``columns.py`` brings their events into common columns or ``own_columns.py`` makes an object of each, and
``merge.py`` merges them.
"""
