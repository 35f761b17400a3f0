"""From the raw columns that a format reads to the typed fields of a source, as a definition's ``parser.fields`` says.

``field_rule.py`` is what a definition says of one field, ``field_mapper.py`` does it to columns of texts.
"""
