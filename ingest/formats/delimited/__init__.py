"""Lines of values between separators (CSV, TSV, pipes): ``format.py`` is the format, ``delimited.py`` its parser."""
