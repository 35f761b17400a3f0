"""The experiment ``formats``."""
