"""Runs ingest clients under load and measures them. Read ``runs.py`` first: it runs the clients."""
