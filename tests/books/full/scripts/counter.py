"""Not served: only scripts and styles are."""
