"""Rules about jobs (BP5xx)."""
