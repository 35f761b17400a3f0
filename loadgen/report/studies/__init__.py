"""The pages of the studies: published figures beside ours, and findings in sentences. Read ``study_page.py`` first."""
