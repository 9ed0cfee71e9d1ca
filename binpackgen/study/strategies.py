"""Configurations of kube-scheduler that are compared, by the words a user names them with."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..errors import BinpackgenError
from ..scheduler.plugins import FIT, NEWEST_MINOR, default_scorers, known_minor
from ..simulate.configuration import read_profiles
from ..simulate.matching import Selector
from ..simulate.model import PodShape, SchedulerProfile
from .subject import Subject

#: What a reader of the article configures: NodeResourcesFit counts five times, and a GPU five times a core.
ARTICLE_WEIGHT = 5
ARTICLE_RESOURCES = (("cpu", 1), ("memory", 1))
GPU_RESOURCE_WEIGHT = 5

#: Named strategies look at all nodes, so that they differ from the compiled one in what they prefer alone; what a
#: sample of the nodes changes is seen with a configuration file.
EVERY_NODE = 100

NAMES = ("compiled", "default", "article", "naive")

_WEIGHTS = re.compile(r"([A-Za-z][\w.-]*)=(.+)\Z")
_PART = re.compile(r"(cpu|memory|gpu|fit|affinity|balanced)=([0-9]+)\Z")
_CURVE = re.compile(r"curve=([0-9]+:[0-9]+(?:/[0-9]+:[0-9]+)*)\Z")


class Strategy(NamedTuple):
    """A scheduler profile. `without` are the labels of pools by which its pods choose none: only those that the
    profile compiles do. What pods with devices must have of them is their own, and stays.
    """

    name: str
    scheduler: SchedulerProfile
    without: frozenset[str]
    words: str

    def shapes(self, shapes: tuple[PodShape, ...]) -> tuple[PodShape, ...]:
        """The pods as they are submitted under this strategy."""
        if not self.without:
            return shapes
        return tuple(
            replace(
                shape,
                preferred_nodes=tuple(
                    term
                    for term in shape.preferred_nodes
                    if not {requirement.key for requirement in term.selector} <= self.without
                ),
                required_nodes=self._required(shape),
            )
            for shape in shapes
        )

    def _required(self, shape: PodShape) -> tuple[Selector, ...] | None:
        if any("/" in name and amount for name, amount in shape.requests.items()):
            return shape.required_nodes
        terms = [
            tuple(requirement for requirement in term if requirement.key not in self.without)
            for term in shape.required_nodes or ()
        ]
        # one term is enough, and one without requirements lets the pod go anywhere
        return tuple(terms) if terms and all(terms) else None


def read_strategies(texts: tuple[str, ...], subject: Subject) -> tuple[Strategy, ...]:
    """The strategies that `texts` name, in their order; two of one name are an error."""
    found: list[Strategy] = []
    for text in texts:
        for strategy in _read(text, subject):
            if any(strategy.name == one.name for one in found):
                raise BinpackgenError(f"--against {text}: {strategy.name} is there already")
            found.append(strategy)
    return tuple(found)


def compiled(subject: Subject) -> Strategy:
    """The profile as `build` emits it."""
    scheduler = subject.scheduler
    return Strategy("compiled", scheduler, frozenset(), describe(scheduler))


def _read(text: str, subject: Subject) -> list[Strategy]:
    if text == "compiled":
        return [compiled(subject)]
    if text in NAMES:
        scheduler = _named(text, subject)
        return [Strategy(text, scheduler, _pool_labels(subject), describe(scheduler))]
    if _WEIGHTS.match(text) and not Path(text).exists():
        return [_explicit(text, subject)]
    return _from_file(text, subject)


def _pool_labels(subject: Subject) -> frozenset[str]:
    labels = subject.plan.spec.node_labels
    return frozenset({labels.pool, labels.gpu_type})


def _named(name: str, subject: Subject) -> SchedulerProfile:
    minor = known_minor(subject.plan.minor)
    defaults = {plugin.name: plugin.weight for plugin in default_scorers(minor)}
    devices = tuple((device, GPU_RESOURCE_WEIGHT) for device in subject.devices)
    if name == "default":
        return SchedulerProfile(minor, weights=defaults, percentage=EVERY_NODE)
    if name == "article":
        weights = {**defaults, FIT: ARTICLE_WEIGHT}
    else:
        weights = {FIT: 1}
    return SchedulerProfile(
        minor,
        strategy="MostAllocated",
        resources=(*ARTICLE_RESOURCES, *devices),
        weights=weights,
        percentage=EVERY_NODE,
    )


def _explicit(text: str, subject: Subject) -> Strategy:
    """`cpu=1,memory=1,gpu=5,fit=3`: MostAllocated over the compiled profile with these weights.

    `curve=0:0/50:3/100:10` makes it RequestedToCapacityRatio, `affinity` and `balanced` weigh NodeAffinity and
    NodeResourcesBalancedAllocation.
    """
    base = subject.scheduler
    resources = dict(base.resources)
    weights = dict(base.weights)
    strategy, shape = base.strategy, base.shape
    for part in text.split(","):
        curve = _CURVE.match(part)
        if curve:
            strategy = "RequestedToCapacityRatio"
            points = [point.split(":") for point in curve[1].split("/")]
            shape = tuple((int(x), int(y)) for x, y in points)
            if any(y > 10 for _, y in shape) or any(x > 100 for x, _ in shape):
                raise BinpackgenError(
                    f"--against {text}: a curve goes from 0:0 to 100:10 (use in %, score 0 to 10)"
                )
            if list(shape) != sorted(set(shape)):
                raise BinpackgenError(f"--against {text}: the points of a curve rise in their use")
            continue
        match = _PART.match(part)
        if match is None:
            raise BinpackgenError(
                f"--against {text}: {part!r} is no weight; known are cpu, memory, gpu, fit, affinity, balanced "
                f"(each =NUMBER) and curve=0:0/100:10; the names are {', '.join(NAMES)}"
            )
        key, value = match[1], int(match[2])
        if key == "gpu":
            resources.update(dict.fromkeys(subject.devices, value))
        elif key in ("cpu", "memory"):
            resources[key] = value
        else:
            plugin = {
                "fit": FIT,
                "affinity": "NodeAffinity",
                "balanced": "NodeResourcesBalancedAllocation",
            }[key]
            weights[plugin] = value
    weights = {name: weight for name, weight in weights.items() if weight}
    scheduler = replace(
        base,
        strategy=strategy,
        shape=shape,
        resources=tuple((name, weight) for name, weight in resources.items() if weight),
        weights=weights,
    )
    return Strategy(text, scheduler, frozenset(), describe(scheduler))


def _from_file(text: str, subject: Subject) -> list[Strategy]:
    """Today's configuration: every profile of a KubeSchedulerConfiguration, alone or inside a ConfigMap."""
    import yaml

    path = Path(text)
    if not path.is_file():
        raise BinpackgenError(
            f"--against {text}: no such file, and not one of {', '.join(NAMES)} or weights such as cpu=1,gpu=5"
        )
    try:
        documents = [body for body in yaml.safe_load_all(path.read_text()) if isinstance(body, dict)]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{text}:{mark.line + 1}" if mark else text
        raise BinpackgenError(f"{place}: cannot be read: {getattr(error, 'problem', error)}") from error
    for body in list(documents):
        if body.get("kind") == "ConfigMap":
            for value in (body.get("data") or {}).values():
                inner = yaml.safe_load(value)
                if isinstance(inner, dict):
                    documents.append(inner)
    configurations = [body for body in documents if body.get("kind") == "KubeSchedulerConfiguration"]
    if not configurations:
        raise BinpackgenError(f"{text}: has no KubeSchedulerConfiguration")
    found = []
    for configuration in configurations:
        for name, scheduler in read_profiles(configuration, known_minor(subject.plan.minor)).items():
            label = path.name if len(configuration.get("profiles") or ()) < 2 else f"{path.name}:{name}"
            found.append(Strategy(label, scheduler, _pool_labels(subject), describe(scheduler)))
    return found


def read_prices(texts: tuple[str, ...], subject: Subject) -> dict[str, float] | None:
    """Prices of a node by pool, None if none is stated."""
    prices: dict[str, float] = {}
    for text in texts:
        pool, _, price = text.partition("=")
        if pool not in subject.plan.pools_by_name:
            known = ", ".join(subject.plan.pools_by_name)
            raise BinpackgenError(f"--price {text}: there is no pool {pool}; there are {known}")
        try:
            prices[pool] = float(price)
        except ValueError:
            prices[pool] = -1.0
        if not 0 <= prices[pool] < 1e12:
            raise BinpackgenError(f"--price {text}: {price!r} is no price")
    return prices or None


def describe(scheduler: SchedulerProfile) -> str:
    """A configuration in one line."""
    resources = ", ".join(f"{name.rpartition('/')[2]} {weight}" for name, weight in scheduler.resources)
    curve = " " + " ".join(f"{x}:{y}" for x, y in scheduler.shape) if scheduler.shape else ""
    weights = scheduler.weights
    defaults = {plugin.name: plugin.weight for plugin in default_scorers(min(scheduler.minor, NEWEST_MINOR))}
    others = {name: weight for name, weight in weights.items() if name != FIT and weight}
    if others == {name: weight for name, weight in defaults.items() if name != FIT}:
        beside = "default scorers"
    else:
        beside = ", ".join(f"{name} {weight}" for name, weight in others.items()) or "no other scorer"
    sample = f"; scores {scheduler.percentage} % of the nodes" if scheduler.percentage else ""
    return f"{scheduler.strategy}{curve} ({resources}), weight {weights.get(FIT, 0)}; {beside}{sample}"
