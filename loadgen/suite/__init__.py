"""``watchfloor bench`` and ``compare``: run one experiment or all of them, and compare run folders.

Read ``bench.py`` first, then ``suite.py``.
"""
