"""The supervisor: a process that starts servers of the stack again when they die. Read ``supervisor.py`` first."""
