"""Aggregations: statistics of the events that match a filter, by groups.

``prepare.py`` chooses where they are computed, ``run.py`` runs them newest events first, ``merge.py`` merges the groups
that tablet servers send, and ``finish.py`` makes the answer's columns of them.
"""
