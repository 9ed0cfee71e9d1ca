"""A search for the weights that serve a workload best, within what the compiler proves.

Every candidate is a profile that compiles: its packing dominates by the plan's own arithmetic, and no rule forbids it.
Half of the candidates are drawn at random, half are neighbors of the best so far. All are judged on the training seeds;
the best one is judged again on held-out seeds beside the profile as it is, seed by seed, and a gain within two standard
errors is called noise. Nothing but the seed of the search decides what is tried, so a journal of answers makes it
resumable: it is asked before the simulator.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from datetime import date
from pathlib import Path as FilePath
from types import TracebackType
from typing import Any, NamedTuple, Self, TextIO

from ..errors import BinpackgenError
from ..simulate.model import UnmodeledError
from ..source import Path, path_text
from .compare import Figure, saturation_order
from .source import Source
from .space import Candidate, Space, recompiled
from .subject import Subject
from .trial import GOALS, Case, Cases, evaluate
from .use import capacity

#: Candidates between two looks at what is best: the same on every machine, so that the search is.
GENERATION = 16
#: Candidates whose neighbors are tried.
PARENTS = 4
#: First of the seeds that the search never sees.
HELD_OUT = 10_000

SourceOf = Callable[[Subject], Source]


class Search(NamedTuple):
    """How long and on what. `seeds` and `held_out` are numbers of seeds."""

    goal: str = "allocation"
    candidates: int = 200
    seeds: int = 3
    held_out: int = 8
    seed: int = 0


class Judged(NamedTuple):
    """A candidate with its value at each training seed."""

    candidate: Candidate
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return math.fsum(self.values) / len(self.values)


@dataclass(frozen=True)
class Outcome:
    """What the search found. `changes` are values by path of the profile, none where the profile is best as it is.

    `before` and `after` are values at held-out seeds, `training_gain` is the mean gain at the training seeds. `margin`
    is the least margin of the chosen profile in score points. `partial` says why the search ended early.
    """

    profile: str
    workload: str
    goal: str
    candidates: int
    forbidden: int
    changes: Mapping[Path, Any]
    before: Figure
    after: Figure
    training_gain: float
    margin: int | None
    search: Search
    notes: tuple[str, ...] = ()
    partial: str | None = None

    @property
    def gain(self) -> Figure:
        """Gains seed by seed."""
        return self.after.less(self.before)

    @property
    def is_gain(self) -> bool:
        """Whether there is one that the noise of the seeds does not explain."""
        return bool(self.changes) and self.gain.mean > 0 and not self.gain.is_noise


class Journal:
    """Answers on disk, one a line. A line that a crash cut short is passed over."""

    def __init__(self, path: FilePath | None, digest: str) -> None:
        self._answers: dict[str, float] = {}
        self._path = path
        self._digest = digest
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        if self._path is None:
            return self
        lines = self._path.read_text().splitlines(keepends=True) if self._path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        if whole:
            header = _parsed(whole[0])
            if header.get("search") != self._digest:
                raise BinpackgenError(
                    f"{self._path} belongs to another search (another profile, workload or goal); remove it, or name "
                    "another with --journal"
                )
            for line in whole[1:]:
                entry = _parsed(line)
                if "key" in entry and isinstance(entry.get("value"), float):
                    self._answers[entry["key"]] = entry["value"]
        self._file = self._path.open("w")
        self._file.write(json.dumps({"search": self._digest}) + "\n")
        for key, value in self._answers.items():
            self._write(key, value)
        self._file.flush()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def known(self) -> int:
        """How many answers there are."""
        return len(self._answers)

    def get(self, key: str) -> float | None:
        """The answer, None if it is not known."""
        return self._answers.get(key)

    def put(self, key: str, value: float) -> None:
        """Keep an answer."""
        self._answers[key] = value
        if self._file is not None:
            self._write(key, value)
            self._file.flush()

    def _write(self, key: str, value: float) -> None:
        assert self._file is not None  # noqa: S101  callers have looked
        self._file.write(json.dumps({"key": key, "value": value}) + "\n")


class Workers(NamedTuple):
    """Where trials run: an executor, and the cases as it wants them (None where its processes remember them)."""

    executor: Executor
    cases: Any


#: Opens workers for cases, as a context.
Opened = Callable[[Cases], Any]


def tune(
    subject: Subject,
    source_of: SourceOf,
    search: Search,
    workers: Opened,
    *,
    journal: FilePath | None = None,
    templates: FilePath | None = None,
    today: date | None = None,
    notes: Iterable[str] = (),
    progress: Callable[[int, int, str], None] = lambda done, total, words: None,
) -> Outcome:
    """Search, then judge the best at held-out seeds.

    Raises BinpackgenError for a journal of another search.
    """
    space = Space(subject.plan)
    compiler = _Compiler(subject, space, today or date.today(), templates)  # noqa: DTZ011  as in compile_profile
    training = tuple(range(search.seeds))
    held_out = tuple(range(HELD_OUT, HELD_OUT + search.held_out))
    cases = {
        choice: case_of(chosen, source_of(chosen), search.goal, (*training, *held_out))
        for choice, chosen in compiler.variants()
    }
    digest = _digest(subject, source_of(subject).words, search.goal)
    judged: list[Judged] = []
    partial = None
    best = Judged(space.start, ())
    before: list[float] = []
    after: list[float] = []
    with Journal(journal, digest) as answers, workers(cases) as opened:
        asker = _Asker(opened, compiler, answers)
        try:
            for generation in _generations(space, search, judged, compiler):
                judged += asker.judge(generation, training)
                top = max(judged, key=lambda one: one.mean)
                progress(len(judged), search.candidates, f"best {_shown(top.mean)}")
            best = max(judged, key=lambda one: one.mean)
            start = judged[0]
            if best.mean <= start.mean:
                best = start
            [(_, now), (_, then)] = asker.judge([space.start, best.candidate], held_out)
            before, after = list(now), list(then)
        except KeyboardInterrupt:
            partial = f"interrupted after {len(judged)} of {search.candidates} candidates, not judged at held-out seeds"
            if not judged:
                raise
            best = max(judged, key=lambda one: one.mean)
    changes = space.changes(best.candidate)
    chosen = compiler.compiled(best.candidate)
    worst = chosen.plan.scheduler.worst if chosen else None
    return Outcome(
        profile=subject.plan.name,
        workload=source_of(subject).words,
        goal=search.goal,
        candidates=len(judged),
        forbidden=compiler.forbidden,
        changes=changes,
        before=Figure(tuple(before)),
        after=Figure(tuple(after)),
        training_gain=best.mean - judged[0].mean,
        margin=worst.points if worst else None,
        search=search,
        notes=tuple(notes),
        partial=partial,
    )


def evidence(outcome: Outcome) -> dict[str, Any]:
    """The outcome as plain data, to stand beside the patch."""
    return {
        "profile": outcome.profile,
        "workload": outcome.workload,
        "goal": {"name": outcome.goal, "words": GOALS[outcome.goal]},
        "partial": outcome.partial,
        "candidates": outcome.candidates,
        "forbidden": outcome.forbidden,
        "changes": {path_text(path): value for path, value in outcome.changes.items()},
        "margin": outcome.margin,
        "trainingSeeds": outcome.search.seeds,
        "trainingGain": round(outcome.training_gain, 9),
        "heldOut": {
            "seeds": list(range(HELD_OUT, HELD_OUT + len(outcome.before.values))),
            "before": list(outcome.before.values),
            "after": list(outcome.after.values),
            "gain": _number(outcome.gain.mean),
            "deviation": _number(outcome.gain.deviation),
        },
        "isGain": outcome.is_gain,
        "searchSeed": outcome.search.seed,
        "notes": list(outcome.notes),
    }


class _Compiler:
    """Candidates as compiled profiles; what a rule forbids is counted and never tried."""

    def __init__(self, subject: Subject, space: Space, today: date, templates: FilePath | None) -> None:
        self._subject = subject
        self._space = space
        self._today = today
        self._templates = templates
        self._known: dict[str, Subject | None] = {}

    @property
    def forbidden(self) -> int:
        """How many candidates were not allowed."""
        return sum(subject is None for subject in self._known.values())

    def compiled(self, candidate: Candidate) -> Subject | None:
        """The subject of a candidate, None if it is not allowed."""
        key = key_of(candidate)
        if key not in self._known:
            changes = self._space.changes(candidate)
            try:
                self._known[key] = (
                    recompiled(self._subject, changes, self._today, self._templates)
                    if changes
                    else self._subject
                )
            except UnmodeledError:
                self._known[key] = None
        return self._known[key]

    def variants(self) -> Iterator[tuple[str, Subject]]:
        """A subject for each choice that changes the pods, and not only the scheduler."""
        for choice in self._space.choices["cpuOnlyPods"]:
            subject = self.compiled({**self._space.start, "cpuOnlyPods": choice})
            if subject is not None:
                yield choice, subject


class _Asker:
    """Asks the journal, then the workers."""

    def __init__(self, workers: Workers, compiler: _Compiler, answers: Journal) -> None:
        self._workers = workers
        self._compiler = compiler
        self._answers = answers

    def judge(self, candidates: Sequence[Candidate], seeds: Sequence[int]) -> list[Judged]:
        futures: dict[str, Future[float]] = {}
        try:
            for candidate in candidates:
                subject = self._compiler.compiled(candidate)
                assert subject is not None  # noqa: S101  forbidden ones were left out
                for seed in seeds:
                    key = f"{key_of(candidate)} @{seed}"
                    if self._answers.get(key) is None and key not in futures:
                        futures[key] = self._workers.executor.submit(
                            evaluate, self._workers.cases, candidate["cpuOnlyPods"], subject.scheduler, seed
                        )
            for key, future in futures.items():
                self._answers.put(key, future.result())
        except BaseException:
            for future in futures.values():
                future.cancel()
            raise
        return [
            Judged(
                candidate, tuple(self._answers.get(f"{key_of(candidate)} @{seed}") or 0.0 for seed in seeds)
            )
            for candidate in candidates
        ]


def key_of(candidate: Candidate) -> str:
    """A candidate in one line, the same for equal ones."""
    return json.dumps(candidate, sort_keys=True, separators=(",", ":"))


def _generations(
    space: Space, search: Search, judged: list[Judged], compiler: _Compiler
) -> Iterator[list[Candidate]]:
    """Batches of new candidates; the first one begins with the profile as it is."""
    rng = random.Random(search.seed)  # noqa: S311  the same search every time is what is wanted
    tried = {key_of(space.start)}
    batch: list[Candidate] = [space.start]
    made = 1
    while made < search.candidates:
        parents = sorted(judged, key=lambda one: one.mean, reverse=True)[:PARENTS]
        misses = 0
        while len(batch) < GENERATION and made < search.candidates and misses < 1000:
            if parents and rng.random() < 0.5:
                candidate = space.near(rng.choice(parents).candidate, rng)
            else:
                candidate = space.anywhere(rng)
            key = key_of(candidate)
            if key in tried or compiler.compiled(candidate) is None:
                misses += 1
                continue
            tried.add(key)
            batch.append(candidate)
            made += 1
        if not batch:
            return
        yield batch
        batch = []
    if batch:
        yield batch


def case_of(subject: Subject, source: Source, goal: str, seeds: Sequence[int]) -> Case:
    """What trials for a goal need of these seeds."""
    resources = tuple(name for name in subject.resources if capacity(source.cluster, [name]).sum())
    workloads = {seed: source.workload(seed) for seed in seeds}
    orders = {}
    if goal == "allocation":
        orders = {
            seed: tuple(saturation_order(source, workload, resources, seed))
            for seed, workload in workloads.items()
        }
        workloads = {seed: workload._replace(submissions=()) for seed, workload in workloads.items()}
    return Case(goal, source.cluster, workloads, orders, resources, subject.queues)


def _digest(subject: Subject, workload: str, goal: str) -> str:
    plain = json.dumps(subject.plan.loaded.root.plain(), sort_keys=True, default=str)
    return hashlib.sha256("\0".join((plain, workload, goal)).encode()).hexdigest()


def _parsed(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _shown(value: float) -> str:
    return f"{value:.4f}"


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 9)
