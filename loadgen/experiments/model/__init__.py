"""``bench model``: published ingest rates predicted by simulation, and our own saturation curve."""
