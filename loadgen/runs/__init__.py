"""Runs of all experiments: their folder, their report, and two of them side by side."""
