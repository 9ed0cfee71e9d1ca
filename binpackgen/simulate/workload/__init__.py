"""What is to be placed: submissions with arrivals and durations, read from traces, objects or a profile."""
