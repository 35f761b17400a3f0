"""The ``block`` layout: ``layout.py`` first; ``compaction.py`` merges what is small."""
