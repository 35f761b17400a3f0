"""Feeds: the kinds of events that ``watchfloor generate`` makes. Each is a folder, found by ``feed_registry``.

A folder NAME makes events of the source ``NAME.events``. Its ``feed.py`` has ``build_feed()``, which returns the
``EventFeed``; its ``vocabulary.py`` has the fragments of JSON from which lines are joined. Read ``proxy`` first.
"""
