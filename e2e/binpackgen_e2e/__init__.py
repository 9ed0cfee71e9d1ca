"""Placements, not YAML: a compiled profile on a real control plane, and whether the cluster packs."""
