"""The bench harness: the parts from which every experiment is made.

Read ``experiment.py`` first (the contract), then ``session.py`` (where an experiment runs) and
``measurement/figure.py`` (what it returns).
"""
