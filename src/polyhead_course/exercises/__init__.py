"""What exercises call: `checks` of the reader's own functions, and `patients` to diagnose."""
