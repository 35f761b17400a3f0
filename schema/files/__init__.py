"""Names of files, as text that can be shown and taken back."""
