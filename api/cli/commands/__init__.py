"""The commands of the command line, a module per group; each adds its own with ``register``."""
