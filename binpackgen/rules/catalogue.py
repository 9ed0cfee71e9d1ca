"""Every rule, one line each, sorted by code."""

from __future__ import annotations

from functools import cache

from ..profile.codes import INPUT_CODES, InputCode
from .platforms.cap_exceeds_node import CapExceedsNode
from .platforms.cap_form_cannot_exempt import CapFormCannotExempt
from .platforms.unsupported import Unsupported
from .policy.crashed_rule import CrashedRule
from .policy.expired_waiver import ExpiredWaiver
from .policy.fixed_rule import FixedRule
from .policy.unknown_rule import UnknownRule
from .policy.unused_waiver import UnusedWaiver
from .pools.duplicate_pool_name import DuplicatePoolName
from .pools.duplicate_taint import DuplicateTaint
from .pools.gpu_pool_without_taint import GpuPoolWithoutTaint
from .pools.gpu_types_collide import GpuTypesCollide
from .pools.invalid_resource_name import InvalidResourceName
from .pools.label_collision import LabelCollision
from .pools.mig_slices_exceed_gpus import MigSlicesExceedGpus
from .pools.mig_slices_unequal import MigSlicesUnequal
from .pools.mig_with_sharing import MigWithSharing
from .pools.misleading_pool_name import MisleadingPoolName
from .pools.node_named_twice import NodeNamedTwice
from .pools.nodes_without_patch import NodesWithoutPatch
from .pools.patch_without_nodes import PatchWithoutNodes
from .pools.pool_size_unclear import PoolSizeUnclear
from .pools.pool_without_room import PoolWithoutRoom
from .pools.restricted_node_label import RestrictedNodeLabel
from .pools.sharing_needs_nvidia import SharingNeedsNvidia
from .pools.taint_hides_nfd import TaintHidesNfd
from .pools.useless_sharing import UselessSharing
from .priority.duplicate_tier_name import DuplicateTierName
from .priority.equal_tier_values import EqualTierValues
from .priority.no_default_tier import NoDefaultTier
from .priority.nothing_preempts import NothingPreempts
from .priority.priority_too_high import PriorityTooHigh
from .priority.reserved_tier_name import ReservedTierName
from .priority.several_default_tiers import SeveralDefaultTiers
from .priority.two_preemption_owners import TwoPreemptionOwners
from .quota.borrows_in_vain import BorrowsInVain
from .quota.cohort_cycle import CohortCycle
from .quota.duplicate_cohort_name import DuplicateCohortName
from .quota.duplicate_queue_name import DuplicateQueueName
from .quota.gpu_quota_without_gpus import GpuQuotaWithoutGpus
from .quota.job_exceeds_quota import JobExceedsQuota
from .quota.kueue_limits import KueueLimits
from .quota.queue_without_flavor_for_job import QueueWithoutFlavorForJob
from .quota.quota_exceeds_pools import QuotaExceedsPools
from .quota.quota_looks_like_node_count import QuotaLooksLikeNodeCount
from .quota.quota_named_twice import QuotaNamedTwice
from .quota.topology_levels_refused import TopologyLevelsRefused
from .quota.unknown_cohort_parent import UnknownCohortParent
from .quota.unknown_quota_key import UnknownQuotaKey
from .quota.unknown_tier_in_limits import UnknownTierInLimits
from .rule import Rule
from .scheduling.falling_shape import FallingShape
from .scheduling.gpu_pools_open_to_cpu_pods import GpuPoolsOpenToCpuPods
from .scheduling.gpu_weight_not_dominant import GpuWeightNotDominant
from .scheduling.kept_scorer_derived import KeptScorerDerived
from .scheduling.kubernetes_too_new import KubernetesTooNew
from .scheduling.kubernetes_too_old import KubernetesTooOld
from .scheduling.nodes_sampled import NodesSampled
from .scheduling.packing_not_dominant import PackingNotDominant
from .scheduling.plugin_weight_too_large import PluginWeightTooLarge
from .scheduling.scheduler_name_clash import SchedulerNameClash
from .scheduling.shape_not_rising import ShapeNotRising
from .scheduling.shape_unused import ShapeUnused
from .scheduling.unknown_scorer import UnknownScorer
from .workloads.array_refused import ArrayRefused
from .workloads.bad_template import BadTemplate
from .workloads.completions_below_workers import CompletionsBelowWorkers
from .workloads.derived_name_too_long import DerivedNameTooLong
from .workloads.device_not_offered import DeviceNotOffered
from .workloads.duplicate_job_name import DuplicateJobName
from .workloads.gpu_template_without_gpu import GpuTemplateWithoutGpu
from .workloads.invalid_cron import InvalidCron
from .workloads.job_bypasses_queues import JobBypassesQueues
from .workloads.job_exceeds_pools import JobExceedsPools
from .workloads.master_without_workers_template import MasterWithoutWorkersTemplate
from .workloads.name_starts_with_digit import NameStartsWithDigit
from .workloads.namespace_outside_queue import NamespaceOutsideQueue
from .workloads.pod_fits_no_pool import PodFitsNoPool
from .workloads.shared_gpu_request_above_one import SharedGpuRequestAboveOne
from .workloads.shared_memory_exceeds_memory import SharedMemoryExceedsMemory
from .workloads.unknown_gpu_type import UnknownGpuType
from .workloads.unknown_queue import UnknownQueue
from .workloads.unknown_template import UnknownTemplate
from .workloads.unknown_tier import UnknownTier
from .workloads.zero_request import ZeroRequest

RULES: tuple[Rule, ...] = (
    DuplicatePoolName(),
    PoolSizeUnclear(),
    PoolWithoutRoom(),
    MigWithSharing(),
    MigSlicesUnequal(),
    UselessSharing(),
    LabelCollision(),
    RestrictedNodeLabel(),
    GpuTypesCollide(),
    TaintHidesNfd(),
    PatchWithoutNodes(),
    NodeNamedTwice(),
    DuplicateTaint(),
    MisleadingPoolName(),
    GpuPoolWithoutTaint(),
    MigSlicesExceedGpus(),
    InvalidResourceName(),
    SharingNeedsNvidia(),
    NodesWithoutPatch(),
    PackingNotDominant(),
    GpuWeightNotDominant(),
    UnknownScorer(),
    GpuPoolsOpenToCpuPods(),
    NodesSampled(),
    SchedulerNameClash(),
    ShapeNotRising(),
    ShapeUnused(),
    FallingShape(),
    KubernetesTooOld(),
    KeptScorerDerived(),
    PluginWeightTooLarge(),
    KubernetesTooNew(),
    DuplicateTierName(),
    ReservedTierName(),
    PriorityTooHigh(),
    SeveralDefaultTiers(),
    EqualTierValues(),
    NoDefaultTier(),
    NothingPreempts(),
    TwoPreemptionOwners(),
    DuplicateQueueName(),
    UnknownQuotaKey(),
    QuotaNamedTwice(),
    QuotaExceedsPools(),
    QuotaLooksLikeNodeCount(),
    UnknownTierInLimits(),
    CohortCycle(),
    UnknownCohortParent(),
    DuplicateCohortName(),
    KueueLimits(),
    QueueWithoutFlavorForJob(),
    JobExceedsQuota(),
    BorrowsInVain(),
    TopologyLevelsRefused(),
    GpuQuotaWithoutGpus(),
    DuplicateJobName(),
    UnknownQueue(),
    UnknownTier(),
    UnknownTemplate(),
    UnknownGpuType(),
    PodFitsNoPool(),
    JobExceedsPools(),
    DerivedNameTooLong(),
    NameStartsWithDigit(),
    BadTemplate(),
    InvalidCron(),
    SharedGpuRequestAboveOne(),
    DeviceNotOffered(),
    NamespaceOutsideQueue(),
    CompletionsBelowWorkers(),
    MasterWithoutWorkersTemplate(),
    SharedMemoryExceedsMemory(),
    GpuTemplateWithoutGpu(),
    ZeroRequest(),
    JobBypassesQueues(),
    ArrayRefused(),
    UnknownRule(),
    FixedRule(),
    UnusedWaiver(),
    ExpiredWaiver(),
    CrashedRule(),
    Unsupported(),
    CapFormCannotExempt(),
    CapExceedsNode(),
)


def find_rule(subject: str) -> Rule | InputCode | None:
    """The rule or input code that is called `subject`, by code (in any case) or name."""
    rule = rules_by_name().get(subject.upper()) or rules_by_name().get(subject)
    if rule is not None:
        return rule
    return next((code for code in INPUT_CODES if subject.upper() == code.code or subject == code.name), None)


@cache
def rules_by_name() -> dict[str, Rule]:
    """Every rule under its code and under its name."""
    return {text: rule for rule in RULES for text in (rule.code, rule.name())}


def adjustable() -> dict[str, bool]:
    """Every code and name there is, and whether policies may soften what it reports."""
    known = {text: False for code in INPUT_CODES for text in (code.code, code.name)}
    return known | {text: rule.is_adjustable() for text, rule in rules_by_name().items()}
