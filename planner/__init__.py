"""The planner: access paths for a filter, their estimated times, and the choice among them; pure functions.

Read ``planner.py`` first.
"""
