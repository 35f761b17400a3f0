"""Pictures of figures. Read ``general.py`` first: it draws any figures; the other files draw one kind of picture each."""
