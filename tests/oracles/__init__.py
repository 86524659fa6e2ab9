"""Plain, slow, obviously right versions of what the core does fast: the tests compare the two."""
