"""What faces people: the command line and the REST service."""
