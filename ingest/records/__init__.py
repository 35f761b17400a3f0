"""The records that ingest keeps in tables of the instance's own.

They are the ledger of work items (``ledger.py``, read it first), quarantined lines (``quarantine.py``) and messages
that are no items (``dead_letters.py``), all as small rows of cells (``cells.py``).
"""
