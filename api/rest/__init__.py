"""The REST service. Read ``app.py`` first. Files in ``routes/`` declare the routes, and ``app.py`` finds them there."""
