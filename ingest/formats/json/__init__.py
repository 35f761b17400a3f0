"""JSON lines of one source: ``format.py`` is the format, ``json_lines.py`` its parser.

``json_values.py`` defines what JSON lines mean; the formats ``eve`` and ``zeek`` use it too.
"""
