"""Pinned upstream binaries, and (next) the control planes that run them."""
