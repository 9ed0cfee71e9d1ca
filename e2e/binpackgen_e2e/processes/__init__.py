"""A real control plane as plain processes on loopback, with nodes that are only data."""
