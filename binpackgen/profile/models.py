"""The profile language: what a platform team states about one cluster, with every default.

Field descriptions are the reference documentation and the editor schema; a default stands beside the field
that has it. Sizes are those of one node or one pod unless a description says otherwise.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ..quantity import Quantity
from .types import (
    QUOTA_SCHEMA,
    CountOrShare,
    Cpu,
    CpuOrShare,
    DnsLabel,
    DnsSubdomain,
    EnvName,
    Flag,
    FreeText,
    GpuCount,
    Image,
    LabelKey,
    LabelValue,
    Memory,
    MemoryOrShare,
    MinorVersion,
    NonNegative,
    Positive,
    Seconds,
    ShownAs,
    Text,
    Whole,
    in_full,
)

_ZERO = Quantity("0")
_EVICTION = Quantity("100Mi")

API_VERSION = "binpackgen.dev/v1alpha1"
KIND = "ClusterProfile"

ControlPlane = Literal[
    "kubeadm",
    "kind",
    "k3s",
    "rke2",
    "talos",
    "openshift",
    "aks",
    "eks",
    "gke",
    "gardener",
    "second-scheduler",
]


class Model(BaseModel):
    """Strict and frozen; keys are camelCase in the file."""

    # the docstrings below the fields become schema descriptions in schema.py: pydantic's own reading of them
    # parses this file once per class, which every run would pay for
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, defer_build=True)


class Metadata(Model):
    name: DnsLabel
    """The cluster's name: the output folder and the label on every object."""


class Kubernetes(Model):
    version: MinorVersion
    """Kubernetes minor of the control plane, quoted: "1.37"."""
    control_plane: ControlPlane = "second-scheduler"
    """How the control plane takes scheduler configuration; `second-scheduler` runs a Deployment of its own
    beside a control plane that is closed."""
    scheduler_image: Image | None = None
    """Image of kube-scheduler where one can be chosen (kubeadm, kind, RKE2, Talos, second scheduler). Default:
    upstream's of the version. The filter form of a cap needs one that has the NodeUtilizationCap plugin."""


class ShapePoint(Model):
    utilization: Annotated[Whole, Field(ge=0, le=100)]
    """Use of a node's resource in percent."""
    score: Annotated[Whole, Field(ge=0, le=10)]
    """Score from 0 to 10."""


class ResourceWeights(Model):
    cpu: Annotated[Whole, Field(ge=1, le=100)] = 1
    memory: Annotated[Whole, Field(ge=1, le=100)] = 1
    gpu: Annotated[Whole, Field(ge=1, le=100)] | None = None
    """Weight of every GPU resource. Default: derived."""


class Serving(Model):
    scheduler_name: DnsSubdomain
    """Name of the profile that spreads: LeastAllocated with the default scorers, for serving beside batch."""


class Packing(Model):
    scheduler_name: DnsSubdomain = "batch-packer"
    """Pods opt in by this schedulerName; `default-scheduler` packs every pod that names no other."""
    strategy: Literal["MostAllocated", "RequestedToCapacityRatio"] = "MostAllocated"
    """Scoring strategy of NodeResourcesFit."""
    shape: Annotated[tuple[ShapePoint, ...], Field(min_length=1)] | None = None
    """Points of RequestedToCapacityRatio, rising in utilization. Default: 0:0 and 100:10."""
    resource_weights: ResourceWeights | None = None
    """Weights inside NodeResourcesFit, if you insist. Default: derived."""
    plugin_weight: Annotated[Whole, Field(ge=1, le=2**31 - 1)] | None = None
    """Weight of NodeResourcesFit among the scorers, if you insist. Default: derived."""
    keep_scorers: dict[Text, Annotated[Whole, Field(ge=1, le=100)]] = Field(default_factory=dict)
    """Further score plugins to leave on, with their weights; packing is derived to outvote them."""
    dominance: Literal["required", "best-effort"] = "required"
    """Whether a margin that is not positive forbids the build or is only reported."""
    cpu_only_pods: Literal["cpu-pools-first", "spare-cores", "cpu-pools-only", "anywhere"] = "cpu-pools-first"
    """Where pods without GPUs may run: CPU pools first and then the pools with most cores per GPU; the same, but
    never on pools whose GPUs need all cores for the jobs of the profile; never on GPU pools; or wherever packing
    puts them."""
    percentage_of_nodes_to_score: Annotated[Whole, Field(ge=1, le=100)] | None = None
    """Share of the nodes that a pod is scored on. Default: 100 where the cluster can have more than 100
    nodes (a smaller window builds several half-full piles), else left alone."""
    serving: Serving | None = None
    """A second scheduler profile that spreads, for serving workloads."""


class MigSlice(Model):
    profile: Annotated[Text, Field(pattern=r"^[1-7]g\.[0-9]{1,3}gb(\+me|\+gfx|\+me\.all|-me)?$")]
    """MIG profile such as 1g.10gb."""
    count: Positive
    """Slices of this profile on one node."""


class Mig(Model):
    strategy: Literal["single", "mixed"]
    """single: every slice is nvidia.com/gpu; mixed: each profile is a resource of its own."""
    slices: Annotated[tuple[MigSlice, ...], Field(min_length=1)]
    """What one node offers."""


class Sharing(Model):
    strategy: Literal["time-slicing", "mps"]
    """How several pods share one GPU."""
    replicas: Annotated[Positive, Field(ge=1, le=1000)]
    """Pods per GPU; 1 means no sharing."""
    rename: Flag = False
    """Offer nvidia.com/gpu.shared in place of nvidia.com/gpu."""


class Gpu(Model):
    type: LabelValue
    """GPU type as jobs name it, such as a100; the value of the GPU type label."""
    count: Annotated[GpuCount, Field(ge=1, le=128)]
    """GPUs on one node."""
    resource: Annotated[Text, Field(pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$")] = "nvidia.com/gpu"
    """Extended resource that the device plugin offers."""
    sharing: Sharing | None = None
    mig: Mig | None = None


class Taint(Model):
    key: LabelKey
    value: LabelValue = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class Resources(Model):
    cpu: Cpu = _ZERO
    memory: Memory = _ZERO


class Reserved(Model):
    kube: Resources = Field(default_factory=Resources)
    """kubeReserved of the kubelet."""
    system: Resources = Field(default_factory=Resources)
    """systemReserved of the kubelet."""
    eviction_memory: Memory = _EVICTION
    """evictionHard memory.available. Default: 100Mi, the kubelet's own."""


class NodePool(Model):
    name: DnsLabel
    count: NonNegative | None = None
    """Nodes of a pool of fixed size; else give min and max."""
    min: NonNegative | None = None
    """Fewest nodes of an autoscaled pool."""
    max: Positive | None = None
    """Most nodes of an autoscaled pool."""
    cpu: Cpu
    """Capacity in cores."""
    memory: Memory
    """Capacity in bytes."""
    pods: Annotated[Positive, Field(le=2500)] = 110
    """Most pods of one node (kubelet maxPods)."""
    gpu: Gpu | None = None
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Further node labels."""
    taints: tuple[Taint, ...] | None = None
    """Node taints. Default: nvidia.com/gpu=present:NoSchedule (the key is the GPU resource) on GPU pools,
    none on others."""
    zones: tuple[LabelValue, ...] = ()
    """Zones over which the pool's nodes are spread."""
    reserved: Reserved = Field(default_factory=Reserved)
    """What the kubelet keeps for itself; capacity less this is allocatable."""
    overhead: Resources = Field(default_factory=Resources)
    """Requests of the DaemonSets that run on every node of the pool."""
    provisioning: Literal["kubelet", "karpenter", "nfd", "patch"] = "kubelet"
    """How labels and taints reach the nodes: kubelet settings, a Karpenter NodePool, an NFD rule, or patches
    for the nodes named in `nodes`."""
    nodes: tuple[DnsSubdomain, ...] = ()
    """Names of the nodes, for `provisioning: patch`."""


class PriorityTier(Model):
    name: DnsSubdomain
    value: Annotated[Whole, Field(ge=-(2**31), le=2**31 - 1)]
    """Priority; at most 1000000000, higher goes first."""
    default: Flag = False
    """Whether pods that name no class get this one; at most one tier."""
    preempts: Flag = True
    """Whether pods of this tier evict lower tiers (preemptionPolicy)."""
    description: FreeText = ""


class PoolQuota(Model):
    """What is left out follows the share of what is given: of gpu, else of cpu, else of memory."""

    cpu: CpuOrShare | None = None
    memory: MemoryOrShare | None = None
    gpu: CountOrShare | None = None


QuotaValue = Annotated[PoolQuota, BeforeValidator(in_full), ShownAs(QUOTA_SCHEMA)]


class Preemption(Model):
    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "LowerPriority"
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Any"


class Queue(Model):
    name: DnsLabel
    namespaces: Annotated[tuple[DnsLabel, ...], Field(min_length=1)]
    """Namespaces that submit to this queue; each gets a LocalQueue of the queue's name."""
    quota: Annotated[dict[DnsLabel, QuotaValue], Field(min_length=1)]
    """Per pool or GPU type (CPU pools together are `cpu`): a share of it such as 75%, a number of GPUs with
    cpu and memory in proportion, or cpu, memory and gpu one by one."""
    cohort: DnsLabel | None = None
    """Queues of one cohort lend each other what they do not use. Default: the cluster's name."""
    borrows: Flag = False
    """Whether the queue may use what others of its cohort leave unused."""
    lends: Flag = True
    """Whether others may use what this queue leaves unused."""
    weight: Annotated[Whole, Field(ge=0, le=1_000_000)] = 1
    """Share among queues that borrow, where fair sharing is on."""
    strategy: Literal["BestEffortFIFO", "StrictFIFO"] = "BestEffortFIFO"
    preemption: Preemption = Field(default_factory=Preemption)
    tier_limits: dict[DnsSubdomain, QuotaValue] = Field(default_factory=dict)
    """Most that one tier may hold in each of the queue's namespaces, as a share of the queue's quota or in
    numbers; becomes a ResourceQuota scoped by PriorityClass."""


class Cohort(Model):
    name: DnsLabel
    parent: DnsLabel | None = None


class Queueing(Model):
    fair_sharing: Flag = False
    """Whether Kueue's controller runs with fair sharing; states the intent, the controller has the switch."""
    cohorts: tuple[Cohort, ...] = ()
    """Cohorts with a parent; cohorts that queues merely name need no entry."""
    topology_levels: tuple[LabelKey, ...] = ()
    """Node labels from the widest domain to the narrowest, for Kueue's topology-aware scheduling."""


class Headroom(Model):
    cpu: Cpu = _ZERO
    memory: Memory = _ZERO


class Caps(Model):
    headroom: Headroom
    """What stays free on every node."""
    form: Literal["reserve", "curve", "filter"] = "reserve"
    """reserve: the kubelet keeps it (hard, stock); curve: the score falls beyond it (soft, stock); filter: the
    NodeUtilizationCap scheduler plugin (hard, its own scheduler image)."""
    exempt_whole_node: Flag = False
    """Whether pods that take all GPUs of a node may use the headroom (filter form)."""


class GpuRequest(Model):
    type: LabelValue | None = None
    """GPU type; the pods stay on nodes of this type. Default: any."""
    count: Annotated[GpuCount, Field(ge=1, le=128)]
    resource: Annotated[Text, Field(pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$")] | None = None
    """Resource to ask for. Default: what the pool of the type offers."""


class PodShape(Model):
    cpu: Cpu
    memory: Memory
    gpu: GpuRequest | None = None


class Volumes(Model):
    data: DnsSubdomain | None = None
    """PersistentVolumeClaim mounted read-only at /data."""
    output: DnsSubdomain | None = None
    """PersistentVolumeClaim mounted at /output."""


class Job(Model):
    name: DnsLabel
    template: DnsLabel
    """Skeleton: single-gpu, pytorch-ddp, master-workers, array, etl, or one of your own template folder."""
    queue: DnsLabel | None = None
    """Kueue queue. Default: none, the job starts at once."""
    namespace: DnsLabel | None = None
    """Default: the first namespace of the queue, or `default`."""
    tier: DnsSubdomain | None = None
    """Priority tier. Default: the default tier."""
    workers: Annotated[Positive, Field(le=100_000)] = 1
    """Pods that run side by side; for an array its parallelism."""
    completions: Annotated[Positive, Field(le=1_000_000)] | None = None
    """Indexes of an array. Default: as many as workers."""
    each: PodShape
    """Requests of one pod (one worker); limits are the same."""
    master: PodShape | None = None
    """Requests of the master of `master-workers`. Default: as a worker."""
    image: Image
    command: tuple[FreeText, ...] = ()
    """Default: what the template runs."""
    args: tuple[FreeText, ...] = ()
    env: dict[EnvName, FreeText] = Field(default_factory=dict)
    volumes: Volumes = Field(default_factory=Volumes)
    shared_memory: Memory | None = None
    """Size of /dev/shm; counts against the pod's memory. Default: a quarter of the memory for pods with
    GPUs, else the runtime's 64Mi."""
    schedule: FreeText | None = None
    """Cron expression; makes a CronJob."""
    deadline: Seconds = 86_400
    """The job ends after this time, counted from its start. Default: 1d."""
    retries: Annotated[NonNegative, Field(le=1000)] = 3
    """Failed pods until the job fails; evictions do not count."""
    keep_finished: Seconds = 86_400
    """A finished job is removed after this time. Default: 1d."""


class Waiver(Model):
    rule: Text
    """Code or name of the rule."""
    reason: Annotated[FreeText, Field(min_length=1)]
    until: Annotated[Text, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] | None = None
    """Last day of the waiver, as 2027-01-31."""
    at: Text | None = None
    """Only findings at or below this path, such as spec.nodePools[0]."""


class Policies(Model):
    severities: dict[Text, Literal["error", "warning", "note", "ignore"]] = Field(default_factory=dict)
    """Severity per rule code or name."""
    waivers: tuple[Waiver, ...] = ()
    accept_loss: Flag = False
    """Whether what the control plane cannot express is written to a loss report instead of being an error."""


class NodeLabels(Model):
    pool: LabelKey = "binpackgen.dev/pool"
    """Label that holds a node's pool."""
    gpu_type: LabelKey = "binpackgen.dev/gpu-type"
    """Label that holds a node's GPU type."""


class Spec(Model):
    kubernetes: Kubernetes
    packing: Packing = Field(default_factory=Packing)
    node_labels: NodeLabels = Field(default_factory=NodeLabels)
    node_pools: Annotated[tuple[NodePool, ...], Field(min_length=1)]
    caps: Caps | None = None
    priority_tiers: tuple[PriorityTier, ...] = ()
    queues: tuple[Queue, ...] = ()
    queueing: Queueing = Field(default_factory=Queueing)
    jobs: tuple[Job, ...] = ()
    policies: Policies = Field(default_factory=Policies)


class ClusterProfile(Model):
    """One cluster. It looks like a Kubernetes object but is a file: nothing applies it to an API server."""

    api_version: Literal["binpackgen.dev/v1alpha1"]
    kind: Literal["ClusterProfile"]
    extends: tuple[Text, ...] = ()
    """Profiles that this one starts from, lowest first; paths are relative to this file."""
    metadata: Metadata
    spec: Spec
