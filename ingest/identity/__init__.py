"""Tells long files apart whose items are queued before they were hashed.

``early_file.py`` draws an identity for a new file and finds its content out while its items are read already.
``recognise.py`` knows such a file again by its content, also if the load that queued it broke off before that.
"""
