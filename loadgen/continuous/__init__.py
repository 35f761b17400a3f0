"""The continuous suite of the Accumulo studies: ``watchfloor continuous``. Read ``main.py`` first."""
