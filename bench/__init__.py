"""Speed, beside the tools that people would use instead."""
