"""Profiles that are almost right: good ones with one to three mistakes of the kinds that people make."""

from __future__ import annotations

import copy
import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from binpackgen.profile.node import Node
from binpackgen.profile.presets import PRESETS, preset_text
from binpackgen.profile.reader import read_text

#: A profile that uses nearly every key of the language.
FULL = """\
apiVersion: binpackgen.dev/v1alpha1
kind: ClusterProfile
metadata: {name: full}
spec:
  kubernetes: {version: "1.36", controlPlane: second-scheduler, schedulerImage: "registry.example.com/s:1"}
  packing:
    schedulerName: packer
    strategy: RequestedToCapacityRatio
    shape:
      - {utilization: 0, score: 0}
      - {utilization: 40, score: 3}
      - {utilization: 100, score: 10}
    resourceWeights: {cpu: 1, memory: 1, gpu: 60}
    keepScorers: {ImageLocality: 1}
    dominance: best-effort
    cpuOnlyPods: cpu-pools-first
    percentageOfNodesToScore: 100
    serving: {schedulerName: spreader}
  nodeLabels: {pool: example.com/pool, gpuType: example.com/gpu}
  nodePools:
    - name: h100
      count: 4
      cpu: 96
      memory: 1Ti
      pods: 200
      gpu: {type: H100, count: 8}
      labels: {example.com/rack: r1, topology.kubernetes.io/zone: z1}
      taints:
        - {key: nvidia.com/gpu, value: present}
        - {key: example.com/batch, effect: NoExecute}
      zones: [z1]
      reserved: {kube: {cpu: 500m, memory: 1Gi}, system: {cpu: 1, memory: 2Gi}, evictionMemory: 500Mi}
      overhead: {cpu: 300m, memory: 512Mi}
    - name: slices
      min: 0
      max: 3
      cpu: 64
      memory: 512Gi
      gpu:
        type: a100-mig
        count: 4
        mig:
          strategy: mixed
          slices:
            - {profile: 1g.5gb, count: 12}
            - {profile: 3g.20gb, count: 4}
    - name: shared
      count: 2
      cpu: 16
      memory: 64Gi
      gpu: {type: t4, count: 1, sharing: {strategy: time-slicing, replicas: 4, rename: true}}
      provisioning: patch
      nodes: [t4-1, t4-2]
    - {name: cpu-a, count: 3, cpu: 32, memory: 128Gi}
    - {name: cpu-b, min: 1, max: 20, cpu: 64, memory: 256Gi, provisioning: karpenter}
  caps:
    headroom: {cpu: 1, memory: 2Gi}
    form: filter
    exemptWholeNode: true
  priorityTiers:
    - {name: batch-high, value: 100000, description: "goes first"}
    - {name: batch-low, value: 1000, default: true, preempts: false}
  queues:
    - name: team-a
      namespaces: [a, a-dev]
      quota:
        h100: 50%
        cpu: {cpu: 200, memory: 800Gi}
        t4: {gpu: 4, cpu: 50%}
      cohort: company
      borrows: true
      weight: 3
      strategy: StrictFIFO
      preemption: {withinClusterQueue: Never, reclaimWithinCohort: LowerPriority}
      tierLimits: {batch-high: 50%}
    - name: team-b
      namespaces: [b]
      quota: {h100: 8, slices: 100%, cpu: 30%}
      cohort: company
      lends: false
  queueing:
    fairSharing: true
    cohorts:
      - {name: company}
      - {name: lab, parent: company}
    topologyLevels: [example.com/rack, kubernetes.io/hostname]
  jobs:
    - name: pretrain
      template: pytorch-ddp
      queue: team-a
      namespace: a-dev
      tier: batch-high
      workers: 2
      each: {cpu: 40, memory: 400Gi, gpu: {type: H100, count: 4}}
      image: registry.example.com/train:1
      command: [python, -m, train]
      args: ["--epochs", "3"]
      env: {OMP_NUM_THREADS: "8"}
      volumes: {data: training-data, output: checkpoints}
      sharedMemory: 64Gi
      deadline: 2d12h
      retries: 2
      keepFinished: 12h
    - name: sweep
      template: array
      queue: team-b
      workers: 8
      completions: 100
      each: {cpu: 2, memory: 8Gi, gpu: {type: a100-mig, count: 1, resource: nvidia.com/mig-1g.5gb}}
      image: registry.example.com/sweep:1
    - name: serve-test
      template: single-gpu
      queue: team-a
      each: {cpu: 1, memory: 4Gi, gpu: {type: t4, count: 1}}
      image: registry.example.com/infer:1
    - name: launch
      template: master-workers
      queue: team-a
      workers: 3
      each: {cpu: 8, memory: 32Gi, gpu: {type: H100, count: 1}}
      master: {cpu: 2, memory: 8Gi}
      image: registry.example.com/launch:1
    - name: nightly
      template: etl
      each: {cpu: 4, memory: 16Gi}
      schedule: "30 1 * * MON-FRI"
      image: registry.example.com/etl:1
  policies:
    severities: {borrows-in-vain: ignore, BP404: note}
    waivers:
      - {rule: job-bypasses-queues, reason: "runs before the queues open", until: "2030-01-01", at: "spec.jobs[4]"}
    acceptLoss: true
"""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

#: Keys below which names are the user's own, so that a typo is no unknown key.
_OWN_NAMES = frozenset({"labels", "quota", "keepScorers", "severities", "env", "tierLimits"})

#: What a short key must not be misspelled as: such words are traps of their own.
_TRAPS = frozenset({"", "y", "n", "on", "no", "off", "yes", "s"})

#: Scalars that are wrong nearly anywhere, and traps of YAML.
JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3.5, 1e300, 2**31, 2**63, 10**40, "", " ", "0", "-5", "1e9", "12Gi", "0.5", "500m",
    "1Ki", "9Ei", "100%", "0%", "101%", "-1%", "50 %", "nan", "no", "off", "~", "NULL", "x" * 64, "x" * 300, "a.b", "a/b",
    "A_B", "-a", "a-", "ä", "日本語", "\u202e", "\x00", "\t", "a\nb", "{{ x }}", "{text}", "%s", "$(X)", "🚀", "system-x",
    "default-scheduler", "cpu", "none", "1.30", "1.2.3", "2026-13-45", "@daily", "* * * * *", "spec.nodePools[0]",
    "nvidia.com/gpu", "kubernetes.io/x", "requests.nvidia.com/gpu", "BP201", "BP101", "crashed-rule",
    [], {}, [[]], [None], [{}], {"a": {}}, ["a", "a"], {"name": "x"}, [{"name": "cpu-a"}], {"cpu": 1}, {"gpu": 5},
)  # fmt: skip

#: Values of the right type for the keys of each part of the language: near the edges of what makes sense, or beyond.
PLAUSIBLE: dict[str, dict[str, tuple[Any, ...]]] = {
    "spec": {
        "packing": (
            {"cpuOnlyPods": "anywhere"},
            {"cpuOnlyPods": "cpu-pools-only"},
            {"cpuOnlyPods": "spare-cores"},
            {"strategy": "RequestedToCapacityRatio"},
            {"keepScorers": {"NodeResourcesBalancedAllocation": 3, "ImageLocality": 1}},
        ),
        "caps": (
            {"headroom": {"cpu": 1}},
            {"headroom": {"cpu": 2, "memory": "8Gi"}, "form": "curve"},
            {"headroom": {"memory": "100Gi"}, "form": "filter", "exemptWholeNode": True},
            {"headroom": {}},
        ),
        "nodeLabels": ({"pool": "kubernetes.io/pool"}, {"pool": "a.b/c", "gpuType": "a.b/c"}, {"gpuType": "nvidia.com/gpu.present"}),
        "queueing": (
            {"cohorts": [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]},
            {"cohorts": [{"name": "a", "parent": "a"}]},
            {"topologyLevels": ["kubernetes.io/hostname", "a/b"]},
            {"topologyLevels": ["a/b", "a/b"], "fairSharing": True},
        ),
        "policies": ({"acceptLoss": True}, {"severities": {"BP5": "note"}}, {"severities": {"pod-fits-no-pool": "ignore", "BP507": "ignore"}}),
        "priorityTiers": ([], [{"name": "system-x", "value": 5}], [{"name": "a", "value": 0}, {"name": "b", "value": -5}]),
        "jobs": ([],),
        "queues": ([],),
    },
    "kubernetes": {
        "version": ("1.31", "1.37.2", "1.38", "1.99", "1.27", "1.1"),
        "controlPlane": (
            "kubeadm", "kind", "k3s", "rke2", "talos", "openshift", "aks", "eks", "gke", "gardener", "second-scheduler",
        ),
        "schedulerImage": ("x", "registry.example.com/s@sha256:00"),
    },
    "packing": {
        "schedulerName": ("default-scheduler", "a", "spreader", "a.b.c"),
        "strategy": ("MostAllocated", "RequestedToCapacityRatio"),
        "shape": (
            [{"utilization": 0, "score": 0}],
            [{"utilization": 100, "score": 10}, {"utilization": 0, "score": 0}],
            [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}],
            [{"utilization": 5, "score": 5}, {"utilization": 5, "score": 5}],
            [{"utilization": 0, "score": 3}, {"utilization": 90, "score": 3}, {"utilization": 100, "score": 10}],
        ),
        "resourceWeights": ({}, {"gpu": 1}, {"gpu": 100}, {"cpu": 100, "memory": 100, "gpu": 1}, {"memory": 50}),
        "pluginWeight": (1, 5, 100, 701, 10**6, 2**31 - 1),
        "keepScorers": ({"NodeAffinity": 5}, {"ImageLocality": 100}, {"NodeResourcesFit": 1}, {"PodTopologySpread": 100, "X": 1}, {}),
        "dominance": ("required", "best-effort"),
        "cpuOnlyPods": ("cpu-pools-first", "spare-cores", "cpu-pools-only", "anywhere"),
        "percentageOfNodesToScore": (1, 50, 100),
        "serving": ({"schedulerName": "default-scheduler"}, {"schedulerName": "batch-packer"}, {"schedulerName": "s"}),
    },
    "nodePools": {
        "name": ("cpu", "none", "a100", "v100", "h100", "x", "9"),
        "count": (0, 1, 2, 100, 101, 5000, 2**31 - 1),
        "min": (0, 1, 10**6),
        "max": (1, 10, 10**6),
        "cpu": (0, "1m", "500m", 1, 3, 1000, "100k", 0.5),
        "memory": (0, "4Mi", "1Gi", "100Ti", "1Ei", 10**12),
        "pods": (1, 2, 2500),
        "gpu": ({"type": "a100", "count": 1}, {"type": "A100", "count": 8}, {"type": "none", "count": 1}, {"type": "", "count": 2}),
        "labels": ({}, {"nvidia.com/gpu.present": "false"}, {"kubernetes.io/role": "x"}, {"binpackgen.dev/pool": "y"}),
        "taints": ([], [{"key": "nvidia.com/gpu", "value": "true"}], [{"key": "a"}, {"key": "a"}], [{"key": "a", "effect": "PreferNoSchedule"}]),
        "zones": ([], ["z1", "z2"], ["z1", "z1"]),
        "reserved": ({}, {"kube": {"cpu": 1000}}, {"evictionMemory": "10Ti"}, {"evictionMemory": 0}),
        "overhead": ({}, {"cpu": 3}, {"cpu": 31, "memory": "127Gi"}),
        "provisioning": ("kubelet", "karpenter", "nfd", "patch"),
        "nodes": ([], ["a"], ["a", "b"], ["t4-1", "t4-1"]),
    },
    "pool gpu": {
        "type": ("a100", "A100", "v100", "cpu", "none", "", "a..b", "a.100", "X" * 63),
        "count": (1, 2, 3, 7, 16, 128, "3000m"),
        "resource": ("nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-1g.5gb", "kubernetes.io/gpu", "-/x", "requests.nvidia.com/gpu"),
        "sharing": tuple({"strategy": kind, "replicas": count, "rename": rename} for kind in ("mps", "time-slicing") for count in (1, 4, 1000) for rename in (True, False)),
        "mig": (
            {"strategy": "single", "slices": [{"profile": "1g.5gb", "count": 7}]},
            {"strategy": "single", "slices": [{"profile": "1g.5gb", "count": 7}, {"profile": "2g.10gb", "count": 1}]},
            {"strategy": "mixed", "slices": [{"profile": "1g.5gb+me", "count": 1}, {"profile": "1g.5gb", "count": 1}]},
            {"strategy": "mixed", "slices": [{"profile": "7g.80gb", "count": 1000}]},
        ),
    },
    "headroom": {"cpu": (0, 1, 64, 1000, "1m"), "memory": (0, "8Gi", "10Ti")},
    "caps": {"form": ("reserve", "curve", "filter"), "exemptWholeNode": (True, False)},
    "priorityTiers": {
        "name": ("batch-low", "batch-high", "system-node-critical", "system-", "a.b"),
        "value": (-(2**31), -1, 0, 1000, 10**9, 10**9 + 1, 2**31 - 1),
        "default": (True, False),
        "preempts": (True, False),
    },
    "queues": {
        "name": ("vision", "team-a", "team-b", "q"),
        "namespaces": (["a"], ["a", "a"], ["x", "y"], ["default"]),
        "quota": ({"cpu": 8}, {"cpu": "100%"}, {"v100": 12, "a100": {"cpu": "8"}}, {"nope": 1}, {"gpu": "50%"}, {"h100": 0}, {"none": "10%"}),
        "cohort": ("company", "lab", "x"),
        "borrows": (True, False),
        "lends": (True, False),
        "weight": (0, 1, 10**6),
        "tierLimits": ({"batch-low": "50%"}, {"batch-high": 4}, {"nope": "1%"}, {"batch-high": {"cpu": 1, "memory": "1Gi", "gpu": 0}}),
    },
    "jobs": {
        "name": ("eval", "sweep", "9", "a" * 63, "a" * 50),
        "template": ("single-gpu", "pytorch-ddp", "master-workers", "array", "etl", "mine"),
        "queue": ("vision", "team-a", "research", "nope"),
        "namespace": ("a", "default", "zzz"),
        "tier": ("batch-high", "batch-low", "nope"),
        "workers": (1, 2, 50, 1000, 100_000),
        "completions": (1, 3, 100, 10**6),
        "master": ({"cpu": 1, "memory": "1Gi"}, {"cpu": 1000, "memory": "1Gi"}, {"cpu": 1, "memory": "1Gi", "gpu": {"count": 1}}),
        "sharedMemory": (0, "64Mi", "10Ti"),
        "schedule": ("@daily", "* * * * *", "61 * * * *", "0 0 31 2 *", "CRON_TZ=UTC * * * * *", "", "@every 1h", "1-5/0 * * * ?"),
        "deadline": ("1s", "10000d", "1h30m"),
        "command": (["sh", "-c", "$(X) {{ y }}"], []),
        "env": ({}, {"JOB_COMPLETION_INDEX": "1"}, {"A": "", "_b": "\n"}),
    },
    "each": {"cpu": (0, "1m", 1, 31, 64, 96, 1000), "memory": (0, "4Mi", "1Gi", "1Ti", "1Pi"), "gpu": ({"count": 1}, {"count": 8})},
    "job gpu": {
        "type": ("a100", "v100", "t4", "H100", "h100", "cpu", ""),
        "count": (1, 2, 4, 8, 9, 128),
        "resource": ("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-9g.5gb", "amd.com/gpu"),
    },
    "policies": {
        "severities": (
            {}, {"pod-fits-no-pool": "ignore"}, {"BP101": "ignore"}, {"unused-waiver": "error"}, {"nope": "note"},
            {"BP506": "ignore", "BP507": "ignore", "BP411": "ignore", "BP412": "ignore", "BP201": "ignore"},
        ),
        "waivers": (
            [], [{"rule": "BP506", "reason": "r"}], [{"rule": "BP201", "reason": "r", "until": "2026-02-31"}],
            [{"rule": "BP520", "reason": "r", "at": "spec.jobs[0]"}], [{"rule": "BP404", "reason": "r", "at": "x[", "until": "2026-06-01"}],
        ),
        "acceptLoss": (True, False),
    },
}  # fmt: skip

#: Bare words for the text of a file that readers disagree about, or that break it.
_RAW = (
    "NO", "yes", "0777", "0o17", "1_000", "1:30", ".inf", "1e3", "!!int x", "!foo y", "*ref", "&a b", "<<", "'", '"', "[", "}",
    "{a: b", ": :", "- -", "? x", "|", ">", "#", "%TAG", "---", "...", "\t", "\x07", "\u2028", "\ufeff", "=", "2026-01-01", "@x", "`x`",
)  # fmt: skip


def good_profiles(root: Path) -> list[str]:
    """Texts that load without an error: the example profiles, the presets and one of nearly every key."""
    examples = [file.read_text("utf-8") for file in sorted((root / "profiles").glob("*.yaml"))]
    # a layer is no profile by itself, and texts are read from standard input, where there are no other files
    # and long ones only take longer
    alone = [text for text in examples if "\nextends:" not in text and len(text) < 10_000]
    return [*alone, *(preset_text(preset, "lab") for preset in sorted(PRESETS)), FULL]


@dataclass(frozen=True)
class NearMiss:
    """A profile's text, what was done to a good one, and the line of a mistake that must be reported."""

    text: str
    done: tuple[str, ...]
    line: int | None = None


def seeded(seed: int) -> random.Random:
    """Random choices that are the same in every run."""
    return random.Random(seed)


def near_miss(rng: random.Random, good: list[str]) -> NearMiss:
    """A good profile with one to three mistakes; one in six has a single misspelled key."""
    text = rng.choice(good)
    if rng.random() < 1 / 6:
        return misspelled_key(rng, text)
    done: list[str] = []
    kind = rng.random()
    if kind < 0.8:
        tree = yaml.load(text, Loader=_LOADER)  # noqa: S506
        # half of them are right in shape, so that rules and the plan get their share
        mistakes = (plausible_value,) if kind < 0.55 else TREE_MISTAKES
        done += [rng.choice(mistakes)(rng, tree) for _ in range(rng.choice((1, 1, 2, 3)))]
        text = yaml.dump(
            tree, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=rng.choice((60, 1000))
        )
    if not done or rng.random() < 0.1:
        for _ in range(rng.randint(1, 3 - min(len(done), 2))):
            text, what = rng.choice(TEXT_MISTAKES)(rng, text)
            done.append(what)
    return NearMiss(text, tuple(done))


def misspelled_key(rng: random.Random, text: str) -> NearMiss:
    """`text` with one key of the language misspelled, and nothing else."""
    root, _ = read_text(text, "x")
    assert root is not None
    keys = [span for span, _, is_own in _keys(root) if not is_own]
    span = rng.choice(keys)
    lines = text.splitlines(keepends=True)
    line = lines[span.line - 1]
    key = line[span.column - 1 : span.end_column - 1]
    wrong = _typo(rng, key)
    lines[span.line - 1] = line[: span.column - 1] + wrong + line[span.end_column - 1 :]
    return NearMiss("".join(lines), (f"{key} became {wrong}",), span.line)


def _keys(node: Node, is_own: bool = False) -> Iterator[tuple[Any, str, bool]]:
    """Every key: where it is, what it is, and whether it is a name of the user's own."""
    if isinstance(node.value, dict):
        for key, child in node.value.items():
            yield child.key_span, key, is_own
            # what is below a name of the user's own (a quota's cpu) is the language's again
            yield from _keys(child, not is_own and key in _OWN_NAMES)
    elif isinstance(node.value, list):
        for child in node.value:
            yield from _keys(child)


def _typo(rng: random.Random, word: str) -> str:
    """`word` with one letter changed, never again a key of the language."""
    while True:
        at = rng.randrange(len(word))
        letter = rng.choice(string.ascii_letters)
        other = rng.choice(
            (
                word[:at] + word[at + 1 :],
                word[:at] + letter + word[at:],
                word[:at] + letter + word[at + 1 :],
                word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
                word.swapcase(),
                word.replace("_", "-") + "s",
            )
        )
        if other != word and other.lower() not in _TRAPS and other not in _LANGUAGE:
            return other


_LANGUAGE = frozenset(key for _, key, _ in _keys(read_text(FULL, "x")[0] or Node({}, None))) | {  # type: ignore[arg-type]
    "extends",
    "pluginWeight",
    "count",
    "min",
    "max",
}


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a tree."""
    found: list[tuple[Any, Any]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        steps = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for step, child in list(steps):
            found.append((node, step))
            stack.append(child)
    return found


def _somewhere(rng: random.Random, tree: Any) -> tuple[Any, Any]:
    places = _places(tree)
    return rng.choice(places) if places else ({"": None}, "")


def junk_value(rng: random.Random, tree: Any) -> str:
    """A value of the wrong type or out of range."""
    node, step = _somewhere(rng, tree)
    node[step] = copy.deepcopy(rng.choice(JUNK))
    return f"{step} became {node[step]!r}"


def plausible_value(rng: random.Random, tree: Any) -> str:
    """A key gets another value of the right type, whether it had one or not."""
    parts = list(_parts(tree))
    if not parts:
        return "nothing"
    part = rng.choice(sorted({name for name, _ in parts}))
    node, options = rng.choice([node for name, node in parts if name == part]), PLAUSIBLE[part]
    key = rng.choice(sorted(options))
    node[key] = copy.deepcopy(rng.choice(options[key]))
    return f"{key} became {node[key]!r}"


def _parts(tree: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The mappings of a profile whose keys PLAUSIBLE knows, with the name it knows them by."""
    stack: list[tuple[str, str, Any]] = [("", "", tree)]
    while stack:
        above, key, node = stack.pop()
        if isinstance(node, dict):
            name = (
                {"nodePools": "pool gpu", "each": "job gpu", "master": "job gpu"}.get(above, "")
                if key == "gpu"
                else key
            )
            name = "each" if name == "master" else name
            if name in PLAUSIBLE:
                yield name, node
            stack += [(key, step, child) for step, child in node.items() if isinstance(step, str)]
        elif isinstance(node, list):
            stack += [(above, key, child) for child in node]


def deleted_key(rng: random.Random, tree: Any) -> str:
    """A key or an item is gone."""
    node, step = _somewhere(rng, tree)
    del node[step]
    return f"{step} deleted"


def duplicated_item(rng: random.Random, tree: Any) -> str:
    """An item of a list stands there twice, as it is or with one change."""
    lists = [(node, step) for node, step in _places(tree) if isinstance(node, list)]
    if not lists:
        return "nothing"
    node, step = rng.choice(lists)
    twin = copy.deepcopy(node[step])
    if isinstance(twin, dict) and twin and rng.random() < 0.5:
        twin[rng.choice(list(twin))] = copy.deepcopy(rng.choice(JUNK))
    node.insert(rng.randint(0, len(node)), twin)
    return f"item {step} doubled"


def renamed_value(rng: random.Random, tree: Any) -> str:
    """A text, most likely a reference, is misspelled."""
    texts = [(node, step) for node, step in _places(tree) if isinstance(node[step], str) and node[step]]
    if not texts:
        return "nothing"
    node, step = rng.choice(texts)
    word = node[step]
    at = rng.randrange(len(word))
    node[step] = word[:at] + rng.choice(string.ascii_lowercase + "-._/ 9") + word[at + rng.randint(0, 1) :]
    return f"{step} became {node[step]!r}"


def swapped_values(rng: random.Random, tree: Any) -> str:
    """Two values change places."""
    (a, i), (b, j) = _somewhere(rng, tree), _somewhere(rng, tree)
    a[i], b[j] = copy.deepcopy(b[j]), copy.deepcopy(a[i])
    return f"{i} and {j} swapped"


def scaled_number(rng: random.Random, tree: Any) -> str:
    """A number is off by a factor or a sign."""
    numbers = [(n, s) for n, s in _places(tree) if isinstance(n[s], int) and not isinstance(n[s], bool)]
    if not numbers:
        return "nothing"
    node, step = rng.choice(numbers)
    number = node[step]
    node[step] = rng.choice(
        (
            0,
            1,
            -number,
            number + 1,
            number - 1,
            number * 1000,
            number * 10**6,
            number // 10,
            2**31 - 1,
            10**30,
        )
    )
    return f"{step} became {node[step]}"


def foreign_key(rng: random.Random, tree: Any) -> str:
    """A key that belongs elsewhere, or nowhere."""
    maps = [node[step] for node, step in _places(tree) if isinstance(node[step], dict)]
    if not maps:
        return "nothing"
    key = rng.choice([*sorted(_LANGUAGE), "on", "NO", "1", "x y", "ключ", "a" * 80, "{}", "<<"])
    rng.choice(maps)[key] = copy.deepcopy(rng.choice(JUNK))
    return f"{key} added"


def grafted_branch(rng: random.Random, tree: Any) -> str:
    """A branch of the tree stands in another place too."""
    (a, i), (b, j) = _somewhere(rng, tree), _somewhere(rng, tree)
    a[i] = copy.deepcopy(b[j])
    return f"{j} copied to {i}"


def deep_nesting(rng: random.Random, tree: Any) -> str:
    """A value wrapped into many lists or mappings."""
    node, step = _somewhere(rng, tree)
    value = node[step]
    depth = rng.choice((1, 2, 5, 40))
    for _ in range(depth):
        value = [value] if rng.random() < 0.5 else {"name": value}
    node[step] = value
    return f"{step} wrapped {depth} times"


def other_case(rng: random.Random, tree: Any) -> str:
    """A text in capitals: the same to a person, another name to Kubernetes."""
    texts = [(node, step) for node, step in _places(tree) if isinstance(node[step], str) and node[step]]
    if not texts:
        return "nothing"
    node, step = rng.choice(texts)
    node[step] = rng.choice((str.upper, str.title, str.lower))(node[step])
    return f"{step} became {node[step]!r}"


TREE_MISTAKES: tuple[Callable[[random.Random, Any], str], ...] = (
    junk_value,
    junk_value,
    junk_value,
    deleted_key,
    duplicated_item,
    renamed_value,
    renamed_value,
    swapped_values,
    scaled_number,
    foreign_key,
    grafted_branch,
    deep_nesting,
    other_case,
)


def cut_text(rng: random.Random, text: str) -> tuple[str, str]:
    """The file ends too early."""
    at = rng.randrange(len(text) + 1)
    return text[:at], f"cut at {at}"


def raw_value(rng: random.Random, text: str) -> tuple[str, str]:
    """A trap of YAML in place of a value."""
    values = list(re.finditer(r"(?<=: )[^\s,{}\[\]#]+", text))
    if not values:
        return text, "nothing"
    match, raw = rng.choice(values), rng.choice(_RAW)
    return text[: match.start()] + raw + text[match.end() :], f"{match[0]} became {raw!r}"


def inserted_text(rng: random.Random, text: str) -> tuple[str, str]:
    """A few characters in the wrong place."""
    at, raw = (
        rng.randrange(len(text) + 1),
        rng.choice((*_RAW, "ß", "\ue000", "\u0301", "  ", "\n", "\r\n", "\n\n  \n")),
    )
    return text[:at] + raw + text[at:], f"{raw!r} at {at}"


def shifted_line(rng: random.Random, text: str) -> tuple[str, str]:
    """A line is indented by spaces or a tab, doubled, moved or gone."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return text, "nothing"
    at = rng.randrange(len(lines))
    line = lines[at]
    match rng.randrange(6):
        case 0:
            lines[at] = "  " + line
        case 1:
            lines[at] = "\t" + line.lstrip()
        case 2:
            lines[at] = line.lstrip()
        case 3:
            lines.insert(at, line)
        case 4:
            lines.insert(rng.randrange(len(lines)), lines.pop(at))
        case _:
            del lines[at]
    return "".join(lines), f"line {at + 1} changed"


def lost_character(rng: random.Random, text: str) -> tuple[str, str]:
    """One character is missing."""
    if not text:
        return text, "nothing"
    at = rng.randrange(len(text))
    return text[:at] + text[at + 1 :], f"lost {text[at]!r} at {at}"


def second_document(rng: random.Random, text: str) -> tuple[str, str]:
    """Two profiles in one file, or a stray separator."""
    return text + rng.choice(("---\n", "---\na: b\n", "...\n", "--- {}\n")) + rng.choice(
        ("", text)
    ), "second document"


TEXT_MISTAKES: tuple[Callable[[random.Random, str], tuple[str, str]], ...] = (
    cut_text,
    raw_value,
    raw_value,
    inserted_text,
    shifted_line,
    shifted_line,
    lost_character,
    second_document,
)


@st.composite
def near_miss_trees(draw: st.DrawFn, good: list[str]) -> str:
    """A good profile with one to three values replaced, as a text; shrinks to fewer and simpler mistakes."""
    tree = yaml.load(draw(st.sampled_from(good)), Loader=_LOADER)  # noqa: S506
    value = st.one_of(
        st.sampled_from(JUNK),
        st.integers(),
        st.text(max_size=20),
        st.dictionaries(st.sampled_from(sorted(_LANGUAGE)), st.sampled_from(JUNK), max_size=2),
    )
    for _ in range(draw(st.integers(1, 3))):
        places = _places(tree)
        node, step = places[draw(st.integers(0, len(places) - 1))]
        node[step] = copy.deepcopy(draw(value))
    return yaml.dump(tree, Dumper=_DUMPER, sort_keys=False, allow_unicode=True)
