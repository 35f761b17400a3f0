"""The experiments, one folder each.

A folder has ``run.py`` with its ``EXPERIMENT``, and may have ``figures.py`` and ``plot.py``.

To add one, add a folder; ``registry.py`` finds it. Read ``generator/run.py`` for a short example.
"""
