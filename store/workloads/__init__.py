"""Clients of Accumulo that make load as processes of their own: their loops are in Java (``watchfloor.workload``)."""
