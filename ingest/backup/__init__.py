"""Export and import of sources, with what the ledger and the quarantine know of them. Read ``export.py`` first."""
