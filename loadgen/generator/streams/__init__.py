"""Streams: lines written when they are due, generated or replayed from a log file. Read ``pacer`` first."""
