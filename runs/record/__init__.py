"""Kept events and notes become rows here. `fold.py` is where to begin reading."""
