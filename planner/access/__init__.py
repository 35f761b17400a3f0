"""What rules are made of: access paths, counts, the conditions that the index answers, and the contract of a rule.

Read ``rule.py`` first.
"""
