"""``bench continuous-chaos``: the continuous suite while every server is killed and paused. Read ``run.py`` first."""
