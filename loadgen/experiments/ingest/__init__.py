"""``bench ingest``: ingest by clients and tablet servers. Read ``run.py`` first."""
