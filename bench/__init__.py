"""What the figures are made with, one command each; see README.md in this folder."""
