"""Experiments' figures, from what was found out."""
