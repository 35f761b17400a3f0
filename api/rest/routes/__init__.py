"""The REST routes, one file per noun. Each file has ``ROUTES``; ``watchfloor.api.rest.app`` finds the files here."""
