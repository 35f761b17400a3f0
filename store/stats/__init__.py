"""Statistics of events on tablet servers: the program that they are sent, and the answers that come back."""
