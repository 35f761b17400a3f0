"""``watchfloor report``: a run folder becomes one HTML page: a page a study, then our experiments, then other engines.

Read ``report.py`` first, then ``chapters.py`` and ``studies/study_page.py``.
"""
