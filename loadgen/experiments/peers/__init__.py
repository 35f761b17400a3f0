"""``bench peers``: Watchfloor beside other engines. Read ``run.py`` first."""
