"""Kernels for nbval that have torch, transformers, matplotlib and IPython loaded when they begin."""
