"""Metrics of ingest for Prometheus: of a worker, and of a master."""
