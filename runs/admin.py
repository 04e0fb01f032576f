"""Django's admin, for people who look after a project."""
