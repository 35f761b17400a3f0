"""Queries in another order than newest first: the first rows of the order, found on the tablet servers.

``prepare.py`` plans a query and finds the place of its cursor, ``found_rows.py`` keeps the first rows so far, and
``run.py`` asks the servers, slice by slice of the time range.
"""
