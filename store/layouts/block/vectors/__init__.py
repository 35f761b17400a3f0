"""Column vectors: a field's values in many events as one cell. Read ``vector.py`` first."""
