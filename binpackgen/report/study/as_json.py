"""Studies as JSON, for programs: figures as plain numbers (shares 0 to 1, seconds), null for none."""

from __future__ import annotations

import json
import math
from typing import Any

from ...study.compare import Comparison, Course
from ...study.sizing import Size


def comparison_json(comparison: Comparison) -> str:
    """The document, with a line break at the end."""
    body = {
        "profile": comparison.profile,
        "workload": comparison.workload,
        "retry": comparison.retry,
        "partial": comparison.partial,
        "nodes": comparison.nodes,
        "seeds": comparison.seeds,
        "strategies": [
            {"name": strategy.name, "configuration": strategy.words} for strategy in comparison.strategies
        ],
        "figures": [
            {
                "group": row.group,
                "name": row.name,
                "unit": row.unit,
                "better": row.better or None,
                "bound": number(row.bound),
                "values": {
                    strategy.name: {
                        "mean": number(figure.mean),
                        "deviation": number(figure.deviation),
                        "seeds": [number(value) for value in figure.values],
                    }
                    for strategy, figure in zip(comparison.strategies, row.figures, strict=True)
                },
            }
            for row in comparison.rows
        ],
        "overTime": [_course(course) for course in comparison.over_time],
        "saturation": [_course(course) for course in comparison.saturation],
        "notes": list(comparison.notes),
    }
    return text(body)


def text(body: Any) -> str:
    """`body` as JSON."""
    return json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def number(value: float | None) -> float | None:
    """A number, None for what JSON can't say."""
    return None if value is None or not math.isfinite(value) else round(value, 6)


def _course(course: Course) -> dict[str, Any]:
    return {
        "strategy": course.strategy,
        "resource": course.resource,
        "points": [[number(x), number(y)] for x, y in course.points],
    }


def size_json(size: Size) -> str:
    """A size as JSON."""
    return text(
        {
            "profile": size.profile,
            "demand": size.demand,
            "partial": size.partial,
            "pools": {
                name: {
                    "nodes": count,
                    "bound": number(size.bounds.get(name)),
                    "oneFewerFails": name in size.tight,
                    "profile": size.stated[name],
                }
                for name, count in size.counts.items()
            },
            "nodes": size.nodes,
            "total": number(size.total),
            "bound": number(size.bound),
            "boundRestsOn": size.bound_words,
            "profileIsEnough": size.stated_is_enough,
            "runs": size.runs,
        }
    )
