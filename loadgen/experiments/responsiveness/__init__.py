"""``bench responsiveness``: the LLCySA paper's query experiment. Read ``run.py`` first."""
