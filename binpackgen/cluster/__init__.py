"""Read what a cluster has: its nodes and pods, from an API server's answer or from a table."""
