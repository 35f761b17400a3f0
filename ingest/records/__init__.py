"""The records that ingest keeps in tables of the instance's own.

They are the ledger of work items (``ledger.py``, read it first) and quarantined lines (``quarantine.py``), both as
small rows of cells (``cells.py``).
"""
