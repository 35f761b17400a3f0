"""The commands that help to write a source definition: ``sources try`` and ``sources infer``."""
