"""Rules about node pools and GPUs (BP1xx)."""
