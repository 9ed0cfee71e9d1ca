"""What the compiler decided, and why: the resolved, frozen plan of one cluster."""
