"""The generator of log lines: made-up events of several sources (``feeds``), and lines written when they are due
(``streams``).

Read ``generate`` first. ``access_log``, ``density_fields`` and ``planted_paths`` write files for experiments.
"""
