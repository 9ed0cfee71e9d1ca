"""What kube-scheduler would do: its filters, scores and choice of a node, number by number, and what follows over time.

`objects` reads Kubernetes objects and scheduler configurations into `model`; `cycle.decide` is one scheduling
cycle in plain Python, the reference; `engine.simulator` runs many and takes the fastest exact path that fits.
`workload` reads and draws what arrives; `timeline.run` plays arrivals, queues, preemption and departures.
What is not modeled is refused by name (`model.UnmodeledError`).

Not part of the model: nominated nodes of pods that wait for their victims to end, extenders, opportunistic batching
(on by default since 1.35, asleep in profiles with default spread constraints), volumes and resource claims.
"""
