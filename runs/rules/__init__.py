"""The pure rules. No Django, no I/O, no clock, no randomness, no global state."""
