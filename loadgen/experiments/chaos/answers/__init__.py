"""The questions of a run, and the comparison of answers, ledger and quarantine with the files."""
