"""The REST service. Read ``app.py`` first; a route is a value in a file of ``routes/``, which ``app.py`` looks into."""
