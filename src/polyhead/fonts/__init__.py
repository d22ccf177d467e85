"""The fonts of the figures, and what makes them."""
