"""The inner loops of `compiled`: many cycles in machine code. Needs numba; nothing else imports this.

Each shape whose turn came has a row with its total on every node, in blocks of which the best total is kept. A
list has the nodes that changed, the last one first. At a shape's turn its row catches up with those that changed
since; then the best block has the best node. What a change makes of a node is computed for all shapes at once,
when the first of them asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from numba.core import types
from numba.experimental import structref
from numpy.typing import NDArray

from .arrays import Bools, Floats, Ints

#: Totals are as narrow as they can be: what a replay costs is fetching them.
Totals = NDArray[Any]  # int16 or int32
Narrow = NDArray[np.int32]
Words = NDArray[np.uint32]
F = TypeVar("F", bound=Callable[..., Any])

#: Nodes in a block: one pass over a block finds its best total.
BLOCK = 32
#: Blocks that are stepped over at once.
STRIDE = 16
#: Strategies of NodeResourcesFit, as numbers.
MOST, LEAST, RATIO = range(3)
#: What settles equal totals: the heap, the lowest index, or chance.
BY_HEAP, BY_INDEX, BY_CHANCE = range(3)
#: Instead of a node: none is feasible, and the random words are used up.
NOWHERE, EXHAUSTED = -1, -2


class Settings(NamedTuple):
    """Numbers of the profile."""

    strategy: int
    fit_weight: int
    balance_weight: int
    balance_is_gain: bool
    taint_weight: int
    affinity_weight: int
    any_bonus: bool
    ties: int


class Numbers(NamedTuple):
    """What stays the same in a run; see arrays.Tables."""

    classes: Ints  # by node
    patterns: Ints  # by node
    alike: Ints  # by node
    capacity: Floats  # by node and scored resource
    base: Floats  # by class and shape
    taints: Ints  # by class and shape
    affinity: Ints  # by class and shape
    needs: Floats  # by column of the room and shape
    changes: Floats  # by column and shape
    fit_weights: Floats  # by pattern, resource and shape
    fit_divisors: Floats  # by pattern and shape: the sum of the weights, at least 1
    balanced: Bools  # by pattern, resource and shape
    balance_weights: Floats  # by shape
    pairs: Bools  # by pattern: whether two resources are balanced for every shape
    curve: Floats  # by use in percent


class State(NamedTuple):
    """What changes in a run."""

    amounts: Floats  # by node and column
    columns: Totals  # totals without the normalized plugins, by node and shape, -1 where it is not feasible
    starts: Totals  # the columns before the first change, by shape and look
    totals: Totals  # by shape and node, -1 where the node is not feasible
    best: Totals  # by shape and block
    room: Narrow  # feasible nodes, by shape and block
    members: Narrow  # feasible nodes, by shape and class
    bonus: Narrow  # by shape and class; it is in the totals already
    highest: Ints  # by shape: most untolerated taints and most preferred weight of a feasible class
    seen: Ints  # by shape: the number of changes that are in its row, -1 for no row
    links: Ints  # by node, see below
    clock: Ints  # the number of changes, and the node that changed last
    nodes: Ints  # scratch, by node
    found: Totals  # scratch, by node
    total: Floats  # scratch, by shape
    score: Floats  # scratch, by shape
    weights: Floats  # scratch, by shape
    changes: Narrow  # scratch, by class


#: What State.links says of a node: the number of changes up to its last one, 0 for none; the nodes that changed
#: next before and after it, -1 for none; whether its column is up to date.
CHANGED, EARLIER, LATER, FRESH = range(4)


@structref.register
class _MachineType(types.StructRef):
    """A Machine inside of compiled code."""


class Machine(structref.StructRefProxy):
    """Settings, Numbers and State in one object: it crosses into compiled code in 0.5 us, 30 arrays in 4."""

    settings: Settings
    numbers: Numbers
    state: State

    def __new__(cls, settings: Settings, numbers: Numbers, state: State) -> Machine:  # noqa: PYI034
        """A machine of these parts."""
        return _assemble(settings, numbers, state)


structref.define_proxy(Machine, _MachineType, ["settings", "numbers", "state"])  # type: ignore[no-untyped-call]


def _compiler(**options: Any) -> Callable[[F], F]:
    def compiled(function: F) -> F:
        try:
            machine_code: F = numba.njit(error_model="numpy", cache=True, **options)(function)
        except RuntimeError:
            # neither the package's folder nor the user's cache can be written to
            machine_code = numba.njit(error_model="numpy", **options)(function)
        return machine_code

    return compiled


#: What Python calls.
entry = _compiler()
#: What is called from there. To count references to thirty arrays would take longer than a cycle, so it is left
#: out (an option of numba that has no public name); nothing is allocated here.
inner = _compiler(_nrt=False)
#: The same, and the call is not worth its price.
inlined = _compiler(_nrt=False, forceinline=True)


@entry
def _assemble(settings: Settings, numbers: Numbers, state: State) -> Machine:
    return Machine(settings, numbers, state)


@inlined
def _renew_column(settings: Settings, numbers: Numbers, state: State, node: int) -> None:
    """Compute a node's totals, without the normalized plugins, for all shapes."""
    amounts, column = state.amounts[node], state.columns[node]
    needs, base = numbers.needs, numbers.base[numbers.classes[node]]
    rooms, shapes = needs.shape
    state.links[node, FRESH] = 1
    for shape in range(shapes):
        column[shape] = -1 if base[shape] < 0 else 0
    for room in range(rooms):
        free = amounts[room]
        for shape in range(shapes):
            if needs[room, shape] > free:
                column[shape] = -1
    feasible = False
    for shape in range(shapes):
        feasible |= column[shape] >= 0
    if not feasible:
        return
    total = state.total
    for shape in range(shapes):
        total[shape] = base[shape]
    if settings.fit_weight:
        _add_fit(settings, numbers, state, node, total)
    if settings.balance_weight:
        if numbers.pairs[numbers.patterns[node]]:
            _add_balance_of_two(settings, numbers, state, node, total)
        else:
            _add_balance(settings, numbers, state, node, total)
    for shape in range(shapes):
        column[shape] = column[shape] | int(total[shape])


@inlined
def _add_fit(settings: Settings, numbers: Numbers, state: State, node: int, total: Floats) -> None:
    """Add NodeResourcesFit's score."""
    pattern, first = numbers.patterns[node], len(numbers.needs)
    score, weights = state.score, state.weights
    parts, shapes = numbers.fit_weights.shape[1:]
    strategy, curve = settings.strategy, numbers.curve
    for shape in range(shapes):
        score[shape] = 0.0
        weights[shape] = 0.0
    for part in range(parts):
        used, there = state.amounts[node, first + part], numbers.capacity[node, part]
        change, weight = numbers.changes[first + part], numbers.fit_weights[pattern, part]
        if strategy == MOST:
            for shape in range(shapes):
                score[shape] += weight[shape] * min(np.floor((used + change[shape]) / there), 100.0)
        elif strategy == LEAST:
            for shape in range(shapes):
                free = 100.0 * there - (used + change[shape])
                score[shape] += weight[shape] * max(np.floor(free / there), 0.0)
        else:
            for shape in range(shapes):
                share = curve[int(min((used + change[shape]) / there, 100.0))]
                score[shape] += weight[shape] * share
                weights[shape] += weight[shape] if share > 0.0 else 0.0
    if strategy == RATIO:
        for shape in range(shapes):
            # halves are rounded up, resources with score 0 drop out
            double = 2.0 * weights[shape]
            total[shape] += settings.fit_weight * np.floor(
                (2.0 * score[shape] + weights[shape]) / max(double, 1.0)
            )
    else:
        divisors = numbers.fit_divisors[pattern]
        for shape in range(shapes):
            total[shape] += settings.fit_weight * np.floor(score[shape] / divisors[shape])


@inner
def _add_balance(settings: Settings, numbers: Numbers, state: State, node: int, total: Floats) -> None:
    """Add NodeResourcesBalancedAllocation's score; see arithmetic.balance for the order of the operations."""
    pattern, parts = numbers.patterns[node], numbers.balanced.shape[1]
    first, place = len(state.amounts[node]) - parts, len(numbers.capacity[node]) - parts
    used, there = state.amounts[node, first:], numbers.capacity[node, place:]
    shapes = len(total)
    for shape in range(shapes):
        weight = numbers.balance_weights[shape]
        if not weight:
            continue
        included, mean, mean_before = 0, 0.0, 0.0
        one, other, one_before, other_before = 0.0, 0.0, 0.0, 0.0
        for part in range(parts):
            if numbers.balanced[pattern, part, shape]:
                other = min((used[part] + numbers.changes[first + part, shape]) / there[part], 1.0)
                other_before = min(used[part] / there[part], 1.0)
                if included == 0:
                    one, one_before = other, other_before
                mean += other
                mean_before += other_before
                included += 1
        deviation, before = 0.0, 0.0
        if included == 2:
            deviation, before = abs((one - other) / 2.0), abs((one_before - other_before) / 2.0)
        elif included > 2:
            mean, mean_before = mean / included, mean_before / included
            for part in range(parts):
                if numbers.balanced[pattern, part, shape]:
                    share = min((used[part] + numbers.changes[first + part, shape]) / there[part], 1.0)
                    deviation += (share - mean) * (share - mean)
                    share = min(used[part] / there[part], 1.0)
                    before += (share - mean_before) * (share - mean_before)
            deviation, before = math.sqrt(deviation / included), math.sqrt(before / included)
        balance = np.floor((1.0 - deviation) * 100.0)
        if settings.balance_is_gain:
            balance = 50.0 + np.floor((50.0 + balance - np.floor((1.0 - before) * 100.0)) / 2.0)
        total[shape] += weight * balance


@inlined
def _add_balance_of_two(settings: Settings, numbers: Numbers, state: State, node: int, total: Floats) -> None:
    """The same where two resources count for all shapes."""
    first, place = state.amounts.shape[1] - 2, numbers.capacity.shape[1] - 2
    used, others = state.amounts[node, first], state.amounts[node, first + 1]
    there, others_there = numbers.capacity[node, place], numbers.capacity[node, place + 1]
    change, others_change = numbers.changes[first], numbers.changes[first + 1]
    weights = numbers.balance_weights
    difference = min(used / there, 1.0) - min(others / others_there, 1.0)
    before = np.floor((1.0 - abs(difference / 2.0)) * 100.0)
    gain, halved = (150.0 - before, 0.5) if settings.balance_is_gain else (0.0, 1.0)
    for shape in range(len(total)):
        share = min((used + change[shape]) / there, 1.0)
        other = min((others + others_change[shape]) / others_there, 1.0)
        balance = np.floor((1.0 - abs((share - other) / 2.0)) * 100.0)
        # 50 + (50 + with - without) // 2
        total[shape] += weights[shape] * np.floor((gain + balance) * halved)


@inlined
def _catch_up(settings: Settings, numbers: Numbers, state: State, shape: int) -> None:
    """Bring the row of a shape up to date."""
    if state.seen[shape] < 0:
        _compute_row(settings, numbers, state, shape)
    elif state.seen[shape] < state.clock[0]:
        _replay(settings, numbers, state, shape)
    state.seen[shape] = state.clock[0]


@inlined
def _replay(settings: Settings, numbers: Numbers, state: State, shape: int) -> None:
    """Bring a row up to date, changed node by changed node."""
    links, columns = state.links, state.columns
    totals, best, room = state.totals[shape], state.best[shape], state.room[shape]
    members, bonus, highest = state.members[shape], state.bonus[shape], state.highest[shape]
    seen, following, moved = state.seen[shape], state.clock[1], False
    while following >= 0 and links[following, CHANGED] > seen:
        node, following = following, links[following, EARLIER]
        if not links[node, FRESH]:
            _renew_column(settings, numbers, state, node)
        total = columns[node, shape]
        if settings.any_bonus and total >= 0:
            total += bonus[numbers.classes[node]]
        if total == totals[node]:
            continue
        before = totals[node]
        totals[node] = total
        block = node // BLOCK
        if (total < 0) != (before < 0):
            step = 1 if before < 0 else -1
            room[block] += step
            if settings.any_bonus:
                kind = numbers.classes[node]
                members[kind] += step
                # only the first node of a class and the last one can move a maximum
                taints, affinity = numbers.taints[kind, shape], numbers.affinity[kind, shape]
                if step > 0:
                    moved |= taints > highest[0] or affinity > highest[1]
                elif members[kind] == 0:
                    moved |= taints == highest[0] or affinity == highest[1]
        if total > best[block]:
            best[block] = total
        elif before == best[block]:
            best[block] = _best_of(totals[block * BLOCK : (block + 1) * BLOCK])
    if moved:
        _renew_bonus(settings, numbers, state, shape)


@inlined
def _best_of(totals: Totals) -> int:
    # with BLOCK for the length the loop would be unrolled before it can be vectorized
    best = totals[0]
    for position in range(len(totals)):
        best = max(best, totals[position])
    return best  # type: ignore[no-any-return]


@inner
def _compute_row(settings: Settings, numbers: Numbers, state: State, shape: int) -> None:
    """Collect the totals of a shape on all nodes."""
    totals, room, members = state.totals[shape], state.room[shape], state.members[shape]
    starts = state.starts[shape]
    for node in range(len(numbers.classes)):
        if not state.links[node, CHANGED]:
            totals[node] = starts[numbers.alike[node]]
            continue
        if not state.links[node, FRESH]:
            _renew_column(settings, numbers, state, node)
        totals[node] = state.columns[node, shape]
    for block in range(len(room)):
        feasible = 0
        part = totals[block * BLOCK : (block + 1) * BLOCK]
        for position in range(len(part)):
            feasible += part[position] >= 0
        room[block] = feasible
    if settings.any_bonus:
        state.bonus[shape] = 0
        members[:] = 0
        for node in range(len(numbers.classes)):
            if totals[node] >= 0:
                members[numbers.classes[node]] += 1
        _renew_bonus(settings, numbers, state, shape)
    else:
        _renew_best(state, shape)


@inner
def _renew_best(state: State, shape: int) -> None:
    totals, best = state.totals[shape], state.best[shape]
    for block in range(len(best)):
        best[block] = _best_of(totals[block * BLOCK : (block + 1) * BLOCK])


@inner
def _renew_bonus(settings: Settings, numbers: Numbers, state: State, shape: int) -> None:
    """Normalize taints and preferred terms over the feasible classes anew; see arrays.bonus."""
    totals, members, bonus = state.totals[shape], state.members[shape], state.bonus[shape]
    highest, changes = state.highest[shape], state.changes
    highest[:] = 0
    for kind in range(len(members)):
        if members[kind]:
            highest[0] = max(highest[0], numbers.taints[kind, shape])
            highest[1] = max(highest[1], numbers.affinity[kind, shape])
    for kind in range(len(members)):
        # what exceeds the maximum belongs to a class that is not feasible now
        taints = min(numbers.taints[kind, shape], highest[0])
        affinity = min(numbers.affinity[kind, shape], highest[1])
        score = settings.taint_weight * (100 - 100 * taints // max(highest[0], 1))
        score += settings.affinity_weight * (100 * affinity // max(highest[1], 1))
        changes[kind] = score - bonus[kind]
        bonus[kind] = score
    for node in range(len(numbers.classes)):
        if totals[node] >= 0:
            totals[node] += changes[numbers.classes[node]]
    _renew_best(state, shape)


@inlined
def _choose(settings: Settings, state: State, shape: int, words: Words, used: int) -> tuple[int, int]:
    """The node that a cycle takes, or NOWHERE or EXHAUSTED, and how many random words are used now."""
    totals, best = state.totals[shape], state.best[shape]
    highest = _best_of(best)
    if highest < 0:
        return NOWHERE, used
    block = _first_of(best, highest)
    part = totals[block * BLOCK : (block + 1) * BLOCK]
    lowest = block * BLOCK + _first_of(part, highest)
    if settings.ties == BY_INDEX or (_count_of(best, highest) == 1 and _count_of(part, highest) == 1):
        return lowest, used
    if settings.ties == BY_HEAP:
        return _first_in_heap(totals, best, state.room[shape], highest, lowest), used
    return _drawn(totals, best, highest, words, used)


@inlined
def _first_of(totals: Totals, wanted: int) -> int:
    for position in range(len(totals)):
        if totals[position] == wanted:
            return position
    return -1


@inlined
def _count_of(totals: Totals, wanted: int) -> int:
    count = 0
    for position in range(len(totals)):
        count += totals[position] == wanted
    return count


@inlined
def _sum_of(numbers: Narrow) -> int:
    total = 0
    for position in range(len(numbers)):
        total += numbers[position]
    return total


@inner
def _first_in_heap(totals: Totals, best: Totals, room: Narrow, highest: int, lowest: int) -> int:
    """The root of the heap that Go makes of the feasible nodes; see cycle.heap_winner and arrays.preorder_ranks.

    Among the nodes of the highest total, of which `lowest` is the first, the one that is first in pre-order wins.
    On one level of the heap that is the first one, and one on a deeper level must be further left, as a share of
    the level.
    """
    winner, block = lowest, lowest // BLOCK
    before = _sum_of(room[:block])  # feasible nodes before the block
    # its place in the heap and the first place of its level, counted from 1
    place, level = before, 1
    for node in range(block * BLOCK, lowest + 1):
        place += totals[node] >= 0
    while 2 * level <= place:
        level *= 2
    while level < place:
        level *= 2
        place *= 2
        # to the block in which the level begins
        while block < len(room):
            several = _sum_of(room[block : block + STRIDE])
            if before + several >= level:
                break
            before += several
            block += STRIDE
        while block < len(room) and before + room[block] < level:
            before += room[block]
            block += 1
        current, reached = block, before
        while current < len(room) and reached + 1 < place:
            if best[current] == highest:
                position, found = reached, -1
                for node in range(current * BLOCK, (current + 1) * BLOCK):
                    if totals[node] >= 0:
                        position += 1
                        if position >= level and totals[node] == highest:
                            found = node
                            break
                if found >= 0:
                    if position < place:
                        winner, place = found, position
                    break
            reached += room[current]
            current += 1
        if block >= len(room):
            break
    return winner


@inner
def _drawn(totals: Totals, best: Totals, highest: int, words: Words, used: int) -> tuple[int, int]:
    """One of the nodes of the highest total, as random.Random.choice draws it from these words."""
    equal = 0
    for block in range(len(best)):
        if best[block] == highest:
            for position in range(BLOCK):
                equal += totals[block * BLOCK + position] == highest
    bits = 0
    while equal >> bits:
        bits += 1
    start, drawn = used, equal
    while drawn >= equal:
        if used == len(words):
            return EXHAUSTED, start
        drawn = np.int64(words[used]) >> (32 - bits)  # type: ignore[assignment]
        used += 1
    for node in range(len(totals)):
        if totals[node] == highest:
            if drawn == 0:
                return node, used
            drawn -= 1
    return NOWHERE, used


@inlined
def _change(numbers: Numbers, state: State, shape: int, node: int, sign: int) -> None:
    """Count a pod in or out."""
    for column in range(state.amounts.shape[1]):
        state.amounts[node, column] += sign * numbers.changes[column, shape]
    links, newest = state.links, state.clock[1]
    state.clock[0] += 1
    if newest != node:
        if links[node, CHANGED]:
            before, after = links[node, EARLIER], links[node, LATER]
            links[after, EARLIER] = before
            if before >= 0:
                links[before, LATER] = after
        links[node, EARLIER] = newest
        if newest >= 0:
            links[newest, LATER] = node
        state.clock[1] = node
    links[node, CHANGED] = state.clock[0]
    links[node, FRESH] = 0


@entry
def place(machine: Machine, shape: int) -> int:
    """Run one cycle and count the pod in; equal totals are not settled by chance here."""
    settings, numbers, state = machine.settings, machine.numbers, machine.state
    _catch_up(settings, numbers, state, shape)
    node, _ = _choose(settings, state, shape, np.empty(0, np.uint32), 0)
    if node >= 0:
        _change(numbers, state, shape, node, 1)
    return node


@entry
def change(machine: Machine, shape: int, node: int, sign: int) -> None:
    """Count a pod in (1) or out (-1)."""
    _change(machine.numbers, machine.state, shape, node, sign)


@entry
def change_all(machine: Machine, shapes: Ints, nodes: Ints, sign: int) -> None:
    """Count pods in or out; those with node -1 are skipped."""
    numbers, state = machine.numbers, machine.state
    for pod in range(len(shapes)):
        if nodes[pod] >= 0:
            _change(numbers, state, shapes[pod], nodes[pod], sign)


@entry
def play(
    machine: Machine, shapes: Ints, events: Ints, nodes: Ints, start: int, words: Words
) -> tuple[int, int]:
    """Go through events from `start` on; see Simulator.play. Ends early where the random words are used up.

    Returns the next event and how many words are used.
    """
    settings, numbers, state = machine.settings, machine.numbers, machine.state
    used = 0
    for position in range(start, len(events)):
        event = events[position]
        if event >= 0:
            shape = shapes[event]
            _catch_up(settings, numbers, state, shape)
            node, used = _choose(settings, state, shape, words, used)
            if node == EXHAUSTED:
                return position, used
            nodes[event] = node
            if node >= 0:
                _change(numbers, state, shape, node, 1)
        elif nodes[~event] >= 0:
            _change(numbers, state, shapes[~event], nodes[~event], -1)
    return len(events), used


@entry
def catch_up(machine: Machine, shape: int) -> None:
    """Bring the row of a shape up to date."""
    _catch_up(machine.settings, machine.numbers, machine.state, shape)


@entry
def start(machine: Machine, looks: Ints) -> None:
    """Forget all changes and compute the columns; `looks` has one node of each look."""
    settings, numbers, state = machine.settings, machine.numbers, machine.state
    state.seen[:] = -1
    for node in range(len(state.links)):
        state.links[node, CHANGED], state.links[node, EARLIER] = 0, -1
    state.clock[0], state.clock[1] = 0, -1
    for look in range(len(looks)):
        _renew_column(settings, numbers, state, looks[look])
        for shape in range(len(state.starts)):
            state.starts[shape, look] = state.columns[looks[look], shape]
