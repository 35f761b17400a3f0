"""The common part of all text formats.

It holds the contract ``Format`` (``format.py``, read it first), the results of parsers (``parsed.py``), the first lines
of a file (``sample.py``), and times within lines (``time_place.py``).
"""
