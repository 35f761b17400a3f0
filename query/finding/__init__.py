"""Finds single things: where a value occurs, and one event with its neighbours in time.

Neither file knows the other.
"""
