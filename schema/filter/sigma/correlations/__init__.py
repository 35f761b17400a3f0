"""Correlations of Sigma rules: conditions on how the matches of rules lie together within a time.

``read.py`` makes a correlation of what pySigma has read and of the rules that it names; ``rule_set.py`` does so for all
rules of some files at once.
"""
