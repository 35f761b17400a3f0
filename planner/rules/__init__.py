"""The planner's rules, one a file; each file's ``RULES`` holds its rules. ``planner/planner.py`` has their order."""
