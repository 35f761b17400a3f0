"""The experiments, one folder each: ``run.py`` with its ``EXPERIMENT``, ``figures.py`` and ``plot.py`` where it has
them.

To add one, add a folder; ``registry.py`` finds it. Read ``generator/run.py`` for a short example.
"""
