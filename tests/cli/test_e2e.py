"""`binpackgen e2e` says what is wrong before anything is built or started."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run

ROOT = Path(__file__).resolve().parents[2]
ARTICLE = str(ROOT / "profiles" / "article.yaml")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--report", "out.pdf"), "--report out.pdf: the suffix must be one of .json, .xml, .html, .svg"),
        (("--node-image", "kindest/node:v1.37.0"), "--node-image and --kind-patch need --backend kind"),
        (("--scenario", "paking"), "there is no scenario paking; there are verification: "),
        (("--scenario", "containers"), "scenario containers needs --backend kind"),
        (("--scenario", "packing", "--kubernetes", "1.12"), "pinned are 1.34, 1.35, 1.36, 1.37"),
        (("--report", "no/such/folder/out.json"), "no/such/folder"),
    ],
    ids=lambda value: value[0].lstrip("-") if isinstance(value, tuple) else "",
)
def test_wrong_use_ends_with_two_and_what_is_right(run: Run, arguments: tuple[str, ...], part: str) -> None:
    done = run("e2e", ARTICLE, *arguments)
    assert done.code == 2
    assert part in done.err
    assert done.out == ""
    assert "Traceback" not in done.err


def test_a_profile_with_findings_ends_with_one(run: Run, tmp_path: Path) -> None:
    profile = tmp_path / "profile.yaml"
    profile.write_text(Path(ARTICLE).read_text().replace("nodePools:", "nodePoolz:"))
    done = run("e2e", str(profile))
    assert done.code == 1
    assert "nodePoolz" in done.err


def test_a_missing_package_is_named_with_the_command_that_installs_it(run: Run, tmp_path: Path) -> None:
    """The extra's packages are not among those that binpackgen needs to compile."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "urllib3.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'urllib3'\", name='urllib3')\n"
    )
    done = run("e2e", ARTICLE, PYTHONPATH=str(tmp_path / "hidden"))
    assert done.code == 2
    assert "the package urllib3 is not installed; run: pip install 'binpackgen[e2e]'" in done.err
