"""The description of the REST service, made of what its routes declare: as OpenAPI, and as a page for people."""
