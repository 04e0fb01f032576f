"""Whole agents of well-known frameworks that report to Footprint. Each is run in the tests, with a model of its own."""
