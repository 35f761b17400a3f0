"""What faces people: the command line, the REST service, and the formats of results."""
