"""The files of a run: how their lines are made, and what the store must have of them."""
