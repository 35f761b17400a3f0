"""``bench rest-load``: the REST service and other HTTP servers under many clients, slow ones too. Read ``run.py``."""
