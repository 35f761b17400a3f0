"""Zeek's logs: ``format.py`` is the format, ``zeek_tsv.py`` and ``zeek_json.py`` are its parsers.

``sniff_tsv.py`` and ``sniff_json.py`` recognise its files.
"""
