"""Rules about queues, quotas and cohorts (BP4xx)."""
