"""The records of ingest that operators see: the ledger, the progress and the quarantine, for command line and REST."""
