"""Answers queries: from a request to record batches of events, newest first, and answers from counts.

Reading order: ``service.py``, ``request.py``, ``prepare.py``, ``batches/sequence.py``, ``executor.py``, ``result.py``.
"""
