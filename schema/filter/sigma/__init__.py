"""Sigma rules as filters: a rule of https://sigmahq.io becomes a filter tree for each source that its log source means.

``rule_file.py`` reads rules with pySigma, ``log_sources.py`` and ``field_names.py`` know the sources and fields that
rules speak of, and ``convert.py`` shows the main flow. pySigma takes long to import, so this folder is imported only
where rules are read.
"""
