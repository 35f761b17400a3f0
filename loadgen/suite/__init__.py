"""``watchfloor bench``, ``report`` and ``compare``: run one experiment or all of them, and evaluate run folders.

Read ``bench.py`` first, then ``suite.py``.
"""
