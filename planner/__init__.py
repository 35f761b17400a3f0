"""Densities and access-path selection: pure functions over a filter tree and counts."""
