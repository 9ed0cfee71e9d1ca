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
    severities: {borrows-in-vain: "off", BP404: note}
    waivers:
      - {rule: job-bypasses-queues, reason: "runs before the queues open", until: "2030-01-01", at: "spec.jobs[4]"}
    acceptLoss: true
"""

#: Keys below which names are the user's own, so that a typo is no unknown key.
_OWN_NAMES = frozenset({"labels", "quota", "keepScorers", "severities", "env", "tierLimits"})

#: Scalars that are wrong nearly anywhere, and traps of YAML.
JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3.5, 1e300, 2**31, 2**63, 10**40, "", " ", "0", "-5", "1e9", "12Gi", "0.5", "500m",
    "1Ki", "9Ei", "100%", "0%", "101%", "-1%", "50 %", "nan", "no", "off", "~", "NULL", "x" * 64, "x" * 300, "a.b", "a/b",
    "A_B", "-a", "a-", "ä", "日本語", "\u202e", "\x00", "\t", "a\nb", "{{ x }}", "{text}", "%s", "$(X)", "🚀", "system-x",
    "default-scheduler", "cpu", "none", "1.30", "1.2.3", "2026-13-45", "@daily", "* * * * *", "spec.nodePools[0]",
    "nvidia.com/gpu", "kubernetes.io/x", "requests.nvidia.com/gpu", "BP201", "BP101", "crashed-rule",
    [], {}, [[]], [None], [{}], {"a": {}}, ["a", "a"], {"name": "x"}, [{"name": "cpu-a"}], {"cpu": 1}, {"gpu": 5},
)  # fmt: skip

#: Bare words for the text of a file that readers disagree about, or that break it.
_RAW = (
    "NO", "yes", "0777", "0o17", "1_000", "1:30", ".inf", "1e3", "!!int x", "!foo y", "*ref", "&a b", "<<", "'", '"', "[", "}",
    "{a: b", ": :", "- -", "? x", "|", ">", "#", "%TAG", "---", "...", "\t", "\x07", "\u2028", "\ufeff", "=", "2026-01-01", "@x", "`x`",
)  # fmt: skip


def good_profiles(root: Path) -> list[str]:
    """Texts that load without an error: the example profiles, the presets and one of nearly every key."""
    examples = [file.read_text("utf-8") for file in sorted((root / "profiles").glob("*.yaml"))]
    # a layer is no profile by itself, and texts are read from standard input, where there are no other files
    alone = [text for text in examples if "\nextends:" not in text]
    return [*alone, *(preset_text(preset, "lab") for preset in sorted(PRESETS)), FULL]


@dataclass(frozen=True)
class NearMiss:
    """A profile's text, what was done to a good one, and the line of a mistake that must be reported."""

    text: str
    done: tuple[str, ...]
    line: int | None = None


def near_miss(rng: random.Random, good: list[str]) -> NearMiss:
    """A good profile with one to three mistakes; one in six has a single misspelled key."""
    text = rng.choice(good)
    if rng.random() < 1 / 6:
        return misspelled_key(rng, text)
    done: list[str] = []
    if rng.random() < 0.6:
        tree = yaml.safe_load(text)
        for _ in range(rng.randint(1, 3)):
            done.append(rng.choice(TREE_MISTAKES)(rng, tree))
        text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=rng.choice((60, 1000)))
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
        # y, n, on, no and off are traps of their own
        if other != word and len(other) > 3 and other not in _LANGUAGE:
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
    key = rng.choice(sorted(_LANGUAGE) + ["on", "NO", "1", "x y", "ключ", "a" * 80, "{}", "<<"])
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
    tree = yaml.safe_load(draw(st.sampled_from(good)))
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
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
