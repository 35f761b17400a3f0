"""Answers to commands of the user that the service runs as, over a socket that only this user can reach."""
