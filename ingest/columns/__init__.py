"""Converts lines of text to typed Arrow columns.

``rows.py`` cuts lines, ``convert.py`` converts whole columns, ``scalars.py`` defines what each single value must be,
``batch.py`` makes events of the columns.
"""
