"""What every text format implements and uses: the contract ``Format`` (``format.py``, read it first), what a parser
returns (``parsed.py``), a look at a file's first lines (``sample.py``), and times within lines (``time_place.py``)."""
