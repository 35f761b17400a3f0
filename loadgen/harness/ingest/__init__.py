"""Ingest clients under load, and what is measured of them. Read ``runs.py`` first: it runs the clients."""
