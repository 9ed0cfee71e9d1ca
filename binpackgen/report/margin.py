"""The margin by which packing dominates, as a table for a person."""

from __future__ import annotations

from collections.abc import Sequence

from ..plan.model import Plan, PoolPreference, Scheduler


def margin_summary(scheduler: Scheduler) -> str:
    """One clause: by how many points packing outvotes the rest, or where it does not."""
    worst = scheduler.worst
    if worst is None:
        return scheduler.no_margin
    if worst.points > 0:
        return f"packing dominates by at least {worst.points} points"
    return f'packing does not dominate on pool "{worst.pool}" (margin {worst.points})'


def margin_text(plan: Plan) -> str:
    """Weights with reasons, rivals that were switched off with costs, and every margin."""
    scheduler = plan.scheduler
    lines = [
        f'Scheduler profile "{scheduler.name}", Kubernetes 1.{plan.minor}: {margin_summary(scheduler)}.',
        "",
        f"NodeResourcesFit scores with {scheduler.strategy}:",
    ]
    lines += [f"  {name:24} weight {weight}" for name, weight in scheduler.resource_weights]
    lines += [f"  {scheduler.resource_reason}", "", "Score plugins that are on:"]
    for scorer in scheduler.scorers:
        lines += [f"  {scorer.plugin:24} weight {scorer.weight}", f"      {scorer.reason}"]
    if scheduler.switched_off:
        lines += ["", "Score plugins that are off:"]
        for off in scheduler.switched_off:
            lines += [
                f"  {off.plugin:32} (default weight {off.default_weight})",
                f"      why: {off.reason}",
                f"      cost: {off.cost}",
            ]
    if scheduler.percentage_of_nodes_to_score is not None:
        lines += [
            "",
            f"percentageOfNodesToScore {scheduler.percentage_of_nodes_to_score}: the pools can have {plan.nodes_max} nodes, and "
            "above 100 the scheduler would score only a moving window of them.",
        ]
    if scheduler.preferences.cpu_only:
        lines += ["", "CPU-only pods prefer pools in this order (term weight):"]
        lines += _classes(scheduler.preferences.cpu_only)
    for key, order in scheduler.preferences.smaller.items():
        kind = f" of type {key.gpu_type}" if key.gpu_type else ""
        lines += ["", f"Pods with less than {order.largest} {key.resource}{kind} prefer pools in this order:"]
        lines += _classes(order.classes)
    if scheduler.margins:
        lines += ["", "Margins (points left after all other scorers together say the opposite):"]
        rows = [("pool", "pod of job", "one step", "step", "x weight", "rivals", "margin", "any cpu/memory")]
        for margin in scheduler.margins:
            any_state = margin.points_any_state
            rows.append(
                (
                    margin.pool,
                    margin.job if margin.role == "worker" else f"{margin.job} ({margin.role})",
                    f"1 {margin.device}" if margin.device else "1 such pod",
                    str(margin.step),
                    str(margin.step * margin.weight),
                    str(margin.rivals),
                    str(margin.points),
                    "-" if any_state is None else str(any_state),
                )
            )
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            cells = [
                cell.ljust(width) if column < 3 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _classes(preferences: Sequence[PoolPreference]) -> list[str]:
    return [f"  {one.weight:4}  {', '.join(one.pools)}  ({one.why})" for one in preferences]
