"""Bulk import: entries become sorted files, which tables take in whole. Read ``bulk_sink.py`` first."""
