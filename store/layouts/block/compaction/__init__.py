"""Merging and removing blocks while queries and ingest go on. Read ``compaction.py`` first."""
