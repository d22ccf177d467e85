"""Speed and memory of multi-head attention, seven ways: `make bench`."""
