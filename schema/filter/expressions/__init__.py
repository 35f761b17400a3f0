"""Expressions of the filter language: their nodes, their functions, and their values in plain Python.

``nodes.py`` defines the meaning of expressions. The tablet servers have the same functions in Java
(``watchfloor.iterators.expression``).
"""
