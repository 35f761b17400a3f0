"""Reads one work item into the store.

``item_reader.py`` is the flow, ``read_ahead.py`` has its threads, ``parts.py`` defines the parts of a long item.
"""
