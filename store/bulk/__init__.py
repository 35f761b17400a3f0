"""Bulk import: entries are written to sorted files, which tables import whole. Read ``bulk_sink.py`` first."""
