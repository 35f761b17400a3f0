"""The interfaces of the system: the command line, the REST service, and the formats of results.

Read ``requests.py`` and ``answers.py`` first: both interfaces use them to translate between JSON and the query service.
"""
