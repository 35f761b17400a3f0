"""The language of stats: an aggregation over the events that a filter matches, its text and JSON forms, its types.

``tree.py`` defines the meaning of stats and ``grammar.lark`` their text. Other rooms call ``type_check.read_stats``,
and ``having.filter_rows`` on the rows of an answer.
"""
