"""``bench page``: the pages that a user gets over REST, beside other engines. Read ``run.py`` first."""
