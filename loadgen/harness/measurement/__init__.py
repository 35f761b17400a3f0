"""The parts of a measurement: a metric, a figure with its samples, all figures of an experiment, and their table.

Read ``figure.py`` first.
"""
