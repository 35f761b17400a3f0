"""What a stack keeps in its folder (sub-folders, secrets, state), and checks of the machine before servers start."""
