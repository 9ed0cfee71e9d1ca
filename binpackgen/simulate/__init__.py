"""What kube-scheduler would do: its filters, scores and choice of a node, number by number.

`objects` reads Kubernetes objects and scheduler configurations into `model`; `cycle.decide` is one scheduling
cycle in plain Python, the reference; `engine.simulator` runs many and takes a fast exact path where one fits.
What is not modeled is refused by name (`model.UnmodeledError`).

Not part of the model yet: preemption, nominated nodes, extenders, opportunistic batching (on by default since
1.35, asleep in profiles with default spread constraints), volumes and resource claims.
"""
