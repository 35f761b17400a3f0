"""Keys, values, ranges and filters as bytes, which tablet servers compare. Read ``keys.py``, then ``values.py``."""
