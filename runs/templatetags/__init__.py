"""What templates may say that needs a little code."""
