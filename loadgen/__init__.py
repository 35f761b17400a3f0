"""Generated events, the demonstration and the measurements."""
