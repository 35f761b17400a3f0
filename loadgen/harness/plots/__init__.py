"""Pictures of figures. Read ``general.py`` first, which draws any figures; the other files draw one kind each."""
