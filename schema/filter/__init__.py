"""The filter language: its tree, its text and JSON forms, and the check of a filter against a source.

``tree.py`` defines the meaning of filters and ``grammar.lark`` their text. Other rooms call ``type_check.read_filter``.
"""
