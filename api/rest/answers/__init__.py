"""Answers that are streams: their format and compression (``negotiation.py``), and their sending."""
