"""The ``block`` layout: some thousands of events in a row. Read ``block_layout.py`` and ``block_encoder.py`` first."""
