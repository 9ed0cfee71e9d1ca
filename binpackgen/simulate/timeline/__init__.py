"""What happens to a workload on a cluster, event by event.

    timeline = run(workload, workload.nodes, profile)          timeline.run
    timeline.counts()[State.ENDED], timeline.usage("nvidia.com/gpu").mean(), timeline.snapshot(3600)

Arrivals, placements and departures take no time of their own, and of what happens at one moment departures come
first. Where nothing but single pods come and go, `plain` runs them; gangs, queues and preemption take `events`.

What stands for what:
- The scheduler takes waiting pods by priority, then by the time since when they wait. All that wait are tried again
  when a pod leaves (the queueing hints of NodeResourcesFit); back-off between attempts is not in the model, since the
  scheduler takes pods out of it early when it has nothing else to do (SchedulerPopFromBackoffQ, on since 1.33).
- Preemption is DefaultPreemption's; victims leave at once, without a grace period, and their controllers replace them
  at once by pods that start from the beginning. A gang that loses a pod starts again as a whole.
- Queues admit as Kueue 0.17 does, see `queues`. Evicted workloads go back to their queue; admitted ones keep their
  quota while their pods wait.

Not in the model: waitForPodsReady and partial admission, backoff limits (pods never fail), nodes that come and go.
"""
