"""Bearer tokens: the file that holds their digests, and the tokens that are in force. Read ``token.py`` first."""
