"""Works on stored events and lines for an operator.

``compact.py`` merges the blocks of a source, ``expire.py`` removes expired events, ``retry.py`` parses quarantined
lines again.
"""
