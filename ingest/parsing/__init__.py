"""The common part of all text formats: the contract ``Format`` (``format.py``, read it first), what a parser returns
(``parsed.py``), the first lines of a file (``sample.py``), and times within lines (``time_place.py``)."""
