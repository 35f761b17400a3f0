"""Columns of events as text: ``columns.py`` joins and formats columns, ``json_objects.py`` makes JSON of whole rows."""
