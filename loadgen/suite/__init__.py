"""``watchfloor bench``, ``report`` and ``compare``: one experiment, all of them, and what their run folders tell.

Read ``bench.py`` first, then ``suite.py``.
"""
