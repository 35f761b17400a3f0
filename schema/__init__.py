"""Source definitions, field types, the filter tree and the errors: what every other room speaks of."""
