"""The doors: how events come in."""
