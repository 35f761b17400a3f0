"""The ways in which events are stored. Read ``registry.py`` first; ``store/layout.py`` has their common protocol."""
