"""Rules about scheduler weights and packing (BP2xx)."""
