"""Runs queries, which return record batches of events, newest first, and answers questions from counts alone.

Reading order: ``service.py``, ``request.py``, ``prepare.py``, ``batches/sequence.py``, ``executor.py``, ``result.py``.
"""
