"""Rules about priority tiers and preemption (BP3xx)."""
