"""Files of the values of named lists."""
