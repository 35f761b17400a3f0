"""The meaning of fields: names of the Elastic Common Schema (ECS), and the kinds of values that fields of a name have.

``ecs.json`` is the table of names and kinds; ``common_names.json`` has the names that logs have for the same fields.
"""
