"""Query batches: the pieces of a query's time range that run one after the other, newest first.

This folder needs no store. Read ``sequence.py`` first: it cuts a time range into batches. ``policy.py`` is the contract
of the policies, which decide how wide each batch is. Each policy is a file, and ``registry.py`` lists them.
"""
