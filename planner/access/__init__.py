"""The parts that rules use: access paths, counts, the conditions that the index answers, and the contract of a rule.

Read ``rule.py`` first.
"""
