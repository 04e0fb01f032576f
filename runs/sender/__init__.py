"""What an agent imports. It needs no Django."""
