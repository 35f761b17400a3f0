"""Puts files on the queue as work items.

``intake.py`` queues one file, ``master.py`` all files that appear in folders, ``load.py`` those that a user names.
``sniff.py`` tells their formats, ``logs_in_file.py`` those of an archive's members; ``requeue.py`` queues again what
the queue has lost.
"""
