"""The commands, one file per group. Each file has ``POSITION`` and ``register``; ``main.py`` finds the files here.

Files import what they need when a command runs, so that ``--help`` is quick and starts no JVM.
"""
