"""The faces of the system: the command line, the REST service, and the formats of results.

Read ``requests.py`` and ``answers.py`` first: both faces translate by them between JSON and the query service.
"""
