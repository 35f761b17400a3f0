"""The text formats, a folder each; ``registry.py`` finds them and opens their parsers.

A new format is a new folder with a ``format.py`` that holds ``FORMAT``, an object with the protocol
``watchfloor.ingest.parsing.format.Format``.
"""
