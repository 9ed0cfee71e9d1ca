"""From documents to files: canonical YAML, the output tree, its lock file, and the atomic write."""
