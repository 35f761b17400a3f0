"""Look-ups of random rows, the suite of the erasure-coding study (2019): bulk writes by codec, and times of look-ups.

Read ``options.py`` first, then ``write_table.py`` and ``look_up.py``. The loops are in Java
(``watchfloor.workload.lookups``).
"""
