"""``bench continuous``: the continuous suite of the Accumulo studies. Read ``run.py`` first."""
