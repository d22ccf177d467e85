"""SmolLM2 in this course: the texts on which it is measured, and tables of what its heads and its bugs do."""
