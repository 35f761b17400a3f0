"""The common part of all text formats: the contract ``Format`` (``format.py``, read it first), what a parser returns
(``parsed.py``), a look at a file's first lines (``sample.py``), and times within lines (``time_place.py``)."""
