"""Routes for operators: ingest and the quarantine."""
