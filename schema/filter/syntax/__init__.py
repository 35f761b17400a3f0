"""The writing of filters: quotes and escapes, the parts of patterns, and the errors of texts that do not parse."""
