"""The planner's rules. Each file has its rules in ``RULES``; ``planner/planner.py`` lists the files in their order."""
