"""The bench harness: what every experiment is made of.

Read ``experiment.py`` first (the contract), then ``session.py`` (where an experiment runs) and
``measurement/figure.py`` (what it returns).
"""
