"""What the clinic can examine, a module for each family."""
