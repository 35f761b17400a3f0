"""Plans queries: finds access paths for a filter, estimates their times and chooses one. All functions are pure.

Read ``planner.py`` first.
"""
