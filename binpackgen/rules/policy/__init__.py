"""Rules about the profile's own policies, and about rules themselves (BP6xx)."""
