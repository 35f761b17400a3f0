"""``bench find``: a value in every source, by the number of sources."""
