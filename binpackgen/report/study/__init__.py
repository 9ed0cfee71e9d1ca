"""What studies found, for people and programs: text, JSON, one HTML page, pictures."""
