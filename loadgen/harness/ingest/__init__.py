"""Ingest clients under load, and what is seen of them."""
