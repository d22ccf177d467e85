"""Kernels for nbval that have torch, matplotlib and IPython loaded when they begin."""
