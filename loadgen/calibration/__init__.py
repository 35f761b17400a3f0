"""Measures what reading costs on a store: ``calibrate_store.py`` does it, for a command or for a stack by itself.

``__main__.py`` is the process that a stack's supervisor starts while the machine is at rest, ``giving_way.py`` ends it
when there is other work.
"""
