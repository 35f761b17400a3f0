"""The ``cell`` layout: ``layout.py`` first."""
