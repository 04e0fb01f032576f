"""Chromium on a real server that a real sender reports to: what people see, and how soon."""
