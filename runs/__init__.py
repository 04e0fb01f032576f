"""Footprint's one app: what running agents did, kept, folded and explained."""
