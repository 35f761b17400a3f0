"""Records that operators see: the ledger, the progress and the quarantine of ingest, and the log of queries."""
