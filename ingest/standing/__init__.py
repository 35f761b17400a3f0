"""The standing workers of a local stack: they wait with everything open, and do the loads of commands.

``standing_worker.py`` is the process (read it first), which a stack starts and watches as it does its servers.
``load_server.py`` runs in it the loads that commands ask for, ``stack_load.py`` is the command's side.
"""
