"""``bench hunt``: many detection rules over process events in one pass, beside the same rules one by one."""
