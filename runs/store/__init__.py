"""The only room that asks the database."""
