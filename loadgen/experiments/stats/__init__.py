"""``bench stats``: aggregations beside DuckDB and chDB. Read ``run.py`` first."""
