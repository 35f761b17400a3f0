"""The commands, a file per group. Each file has ``POSITION`` and ``register``, and ``main.py`` finds it here.

Files import what they need when a command runs, so that ``--help`` is quick and starts no JVM.
"""
