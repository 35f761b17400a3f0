"""Parts that commands share: the contract of a group, exit statuses, settings, stores, signals, rows and progress.

Read ``command_group.py`` first.
"""
