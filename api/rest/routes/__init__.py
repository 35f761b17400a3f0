"""The REST routes, a file per noun. Each file has ``ROUTES``, and ``watchfloor.api.rest.app`` finds it here."""
