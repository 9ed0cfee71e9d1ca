"""From text to a typed ClusterProfile with the origin of every value."""
