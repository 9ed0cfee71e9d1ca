"""What a cluster is put through: one file per scenario, each with a negative control that must fail."""
