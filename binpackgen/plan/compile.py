"""From a loaded profile to its plan, step by step; data only moves down this list."""

from __future__ import annotations

from ..profile.load import LoadedProfile
from .jobs import plan_jobs
from .model import Plan, Tier
from .pools import plan_cap, plan_pools
from .preferences import plan_preferences
from .queues import plan_flavors, plan_queues
from .weights import plan_scheduler


def compile_plan(loaded: LoadedProfile) -> Plan:
    """The plan of a profile whose references hold (see rules of stage profile)."""
    profile = loaded.profile
    spec = profile.spec
    version = spec.kubernetes.version
    minor = int(version.split(".")[1])
    cap = plan_cap(spec)
    pools = plan_pools(spec, cap)
    jobs, open_pools = plan_jobs(spec, pools)
    preferences = plan_preferences(spec, pools, jobs)
    scheduler = plan_scheduler(spec, minor, pools, jobs, preferences, cap)
    flavors = plan_flavors(spec, pools)
    queues, cohorts = plan_queues(spec, profile.metadata.name, flavors)
    devices = {name for flavor in flavors for name in flavor.room.devices}
    return Plan(
        loaded=loaded,
        name=profile.metadata.name,
        minor=minor,
        version=version,
        control_plane=spec.kubernetes.control_plane,
        pools=pools,
        pools_by_name={pool.name: pool for pool in pools},
        cpu_only_pools=open_pools,
        tiers=tuple(
            Tier(tier.name, ("spec", "priorityTiers", index), tier)
            for index, tier in enumerate(spec.priority_tiers)
        ),
        jobs=jobs,
        scheduler=scheduler,
        flavors=flavors,
        queues=queues,
        cohorts=cohorts,
        covered_resources=("cpu", "memory", *sorted(devices)),
        cap=cap,
    )
