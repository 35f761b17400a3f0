"""What every REST route stands on: the ``Route`` contract, validation by its schemas, problems, streams of events.

Read ``route.py`` first.
"""
