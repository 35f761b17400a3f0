"""Correlations over the matches of rules: ``windows.py`` looks at windows of time, ``correlate.py`` shows the flow."""
