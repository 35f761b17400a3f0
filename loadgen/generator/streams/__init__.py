"""Lines written as they happen: generated ones, or those of a file that are replayed."""
