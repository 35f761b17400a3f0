"""The ``cell`` layout, the paper's: an entry per field. Read ``cell_layout.py`` and ``cell_encoder.py`` first."""
