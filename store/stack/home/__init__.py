"""Files in a stack's folder (sub-folders, secrets, state), and checks of the machine before servers start."""
