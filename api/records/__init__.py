"""What operators see of ingest: the ledger, the progress and the quarantine, for command line and REST."""
