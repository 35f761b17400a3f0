"""The work of ``watchfloor sigma``; it imports pySigma, so that the command imports it when it runs."""
