"""The filter language: its tree, its text and JSON forms, and the check of a filter against a source.

``tree.py`` says what a filter means and ``grammar.lark`` how it is written; ``type_check.read_filter`` is the way in.
"""
