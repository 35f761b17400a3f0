"""Detection rules over stored events: ``packing.py`` puts the rules of a source together, ``hunt.py`` runs them.

Rules are Sigma rules as filters (``schema/filter/sigma``).
"""
