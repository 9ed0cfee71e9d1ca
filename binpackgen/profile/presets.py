"""Ready-made first profiles, for `init`."""

from __future__ import annotations

from pathlib import Path as FilePath

#: Preset name to what it is for.
PRESETS: dict[str, str] = {
    "minimal": "One GPU pool, one CPU pool, one job; the scheduler runs as a Deployment.",
    "training": "GPU training for several teams: tiers, queues with borrowing, DDP and array jobs.",
    "cpu-batch": "CPU-only batch such as rendering, genomics or ETL, with headroom on every node.",
}


def preset_text(preset: str, name: str) -> str:
    """The profile text of `preset` for a cluster called `name`."""
    folder = FilePath(__file__).parent.parent / "data" / "presets"
    text = (folder / f"{preset}.yaml").read_text("utf-8")
    return text.replace("NAME", name, 1)
