"""The warm-up of a service, before it says that it is ready and beside its first requests."""
