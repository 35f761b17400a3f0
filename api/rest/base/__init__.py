"""The base of every REST route: the ``Route`` contract, validation by its schemas, problems, streams of events.

Read ``route.py`` first.
"""
