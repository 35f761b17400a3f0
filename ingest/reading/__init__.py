"""Reads one work item into the store: ``item_reader.py`` is the flow, ``read_ahead.py`` its threads, ``parts.py`` how a
long item is counted."""
