"""The generator of log lines.

It makes up events of several sources (``feeds``) and writes lines when they are due (``streams``).

Read ``generate`` first. ``access_log``, ``density_fields`` and ``planted_paths`` write files for experiments.
"""
