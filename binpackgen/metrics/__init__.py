"""The golden metrics: what a stream of pod and node changes says about packing."""
