"""Every command as a user meets it: exit code, standard output, standard error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import PROFILE, ROOT, Run


def test_help_lists_every_command(run: Run) -> None:
    """Help goes to standard output and is a success."""
    outcome = run("--help")

    assert 0 == outcome.code
    for command in ("init", "import", "check", "build", "explain", "schema", "completion"):
        assert f"\n  {command} " in outcome.out
    assert "" == outcome.err


def test_help_imports_nothing_heavy(run: Run) -> None:
    """The start is cheap: neither pydantic nor jinja2, yaml or jsonschema is loaded for help."""
    outcome = run("--help", PYTHONPROFILEIMPORTTIME="1")

    loaded = {line.rsplit("|", 1)[-1].strip() for line in outcome.err.splitlines()}
    assert "click" in loaded
    assert set() == loaded & {"pydantic", "jinja2", "yaml", "jsonschema", "numpy"}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("bild",), 'Did you mean "build"?'),
        (("build",), "Missing argument"),
        (("build", "--chek", "x"), "--check"),
        (("check", "-o", "xml", "x"), "xml"),
    ],
)
def test_wrong_use_ends_with_two_and_a_hint(run: Run, arguments: tuple[str, ...], part: str) -> None:
    """A usage error is exit code 2, on standard error, with what was meant."""
    outcome = run(*arguments)

    assert (2, "") == (outcome.code, outcome.out)
    assert part in outcome.err
    assert "Traceback" not in outcome.err


def test_build_writes_a_tree_and_then_nothing(run: Run, profile: Path) -> None:
    """The first build writes, the second finds nothing to change and touches no file."""
    first = run("build", profile.name)
    before = {path: path.stat().st_mtime_ns for path in (profile.parent / "out").rglob("*")}
    second = run("build", profile.name)
    after = {path: path.stat().st_mtime_ns for path in (profile.parent / "out").rglob("*")}

    assert (0, "", 0, "") == (first.code, first.out, second.code, second.out)
    assert "packing dominates by at least" in first.err
    assert "nothing to change" in second.err
    assert before == after
    assert (profile.parent / "out/lab/README.md").is_file()


def test_build_check_tells_stale_from_fresh(run: Run, profile: Path) -> None:
    """--check writes nothing: 1 with the files and the command that mends them, 0 when fresh."""
    missing = run("build", "--check", profile.name)
    assert 1 == missing.code
    assert not (profile.parent / "out").exists()
    assert "run: binpackgen build lab.profile.yaml" in missing.err

    run("build", profile.name)
    assert (0, "") == (lambda o: (o.code, o.out))(run("build", "--check", profile.name))

    profile.write_text(PROFILE.replace("value: 1000", "value: 2000"))
    stale = run("build", "--check", profile.name)
    assert 1 == stale.code
    assert "out/lab/priority-classes.yaml" in stale.out


def test_a_hand_edited_file_is_not_overwritten(run: Run, profile: Path) -> None:
    """An edit in the tree stops the build with the file's name; --force takes the tree back."""
    run("build", profile.name)
    edited = profile.parent / "out/lab/priority-classes.yaml"
    edited.write_text(edited.read_text() + "# mine\n")
    profile.write_text(PROFILE.replace("value: 1000", "value: 2000"))

    refused = run("build", profile.name)

    assert 2 == refused.code
    assert "priority-classes.yaml" in refused.err
    assert edited.read_text().endswith("# mine\n")
    assert 0 == run("build", "--force", profile.name).code
    assert not edited.read_text().endswith("# mine\n")


def test_a_foreign_file_survives(run: Run, profile: Path) -> None:
    """A file that binpackgen did not write is never removed, --force or not."""
    run("build", profile.name)
    foreign = profile.parent / "out/lab/notes.txt"
    foreign.write_text("keep me")
    profile.write_text(PROFILE.replace("value: 1000", "value: 2000"))

    run("build", profile.name)
    run("build", "--force", profile.name)

    assert "keep me" == foreign.read_text()


def test_yaml_goes_to_standard_output_alone(run: Run, profile: Path) -> None:
    """For a pipe: objects on standard output, from a profile on standard input, no file anywhere."""
    outcome = run("build", "-", "-o", "yaml", stdin=PROFILE)

    assert 0 == outcome.code
    assert outcome.out.startswith("---\n")
    assert "kind: ClusterQueue" in outcome.out
    assert "kind: Job" not in outcome.out
    assert not (profile.parent / "out").exists()


def test_findings_end_with_one_and_point_at_the_line(run: Run, profile: Path) -> None:
    """A finding shows file, line, column, the source line with a caret, and the fix."""
    profile.write_text(PROFILE.replace("queue: main", "queue: mian"))

    outcome = run("build", profile.name)

    assert (1, "") == (outcome.code, outcome.out)
    assert "lab.profile.yaml:16:14" in outcome.err
    assert "   16 |       queue: mian\n      |              ^^^^\n" in outcome.err
    assert "main" in outcome.err
    assert not (profile.parent / "out").exists()


def test_check_reports_on_standard_output(run: Run, profile: Path) -> None:
    """For check the findings are the data."""
    profile.write_text(PROFILE.replace("queue: main", "queue: mian"))

    outcome = run("check", profile.name)

    assert 1 == outcome.code
    assert outcome.out.endswith("1 error\n")
    assert "" == outcome.err


def test_check_of_a_good_profile_is_silent_success(run: Run, profile: Path) -> None:
    """The negative control: nothing wrong, exit code 0."""
    outcome = run("check", profile.name)

    assert (0, "no findings\n", "") == (outcome.code, outcome.out, outcome.err)


def test_check_speaks_json(run: Run, profile: Path) -> None:
    """JSON has a version and every part of a finding."""
    profile.write_text(PROFILE.replace("controlPlane:", "controlPlain:"))

    outcome = run("check", "-o", "json", profile.name)
    body = json.loads(outcome.out)

    assert 1 == outcome.code
    assert 1 == body["version"]
    assert {
        "code": "BP006",
        "name": "unknown-key",
        "severity": "error",
        "message": 'kubernetes has no key "controlPlain"',
        "file": "lab.profile.yaml",
        "line": 5,
        "column": 33,
        "endLine": 5,
        "endColumn": 45,
        "fix": "did you mean controlPlane?",
        "edits": [
            {
                "file": "lab.profile.yaml",
                "line": 5,
                "column": 33,
                "endLine": 5,
                "endColumn": 45,
                "text": "controlPlane",
            }
        ],
        "related": [],
        "waived": None,
    } == body["findings"][0]


def test_check_speaks_github(run: Run, profile: Path) -> None:
    """Annotations carry the place and escape what would end them."""
    profile.write_text(PROFILE.replace("100%", "175%"))

    outcome = run("check", "-o", "github", profile.name)

    assert outcome.out.startswith("::error file=lab.profile.yaml,line=12,")
    assert "175%25" in outcome.out
    assert 1 == outcome.out.count("\n")


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1), ("never", 0)])
def test_fail_on_sets_the_least_severity(run: Run, profile: Path, fail_on: str, code: int) -> None:
    """A warning fails only where it is asked to."""
    profile.write_text(PROFILE.replace("quota: {a100: 100%}", "quota: {a100: {gpu: 20}}"))

    outcome = run("check", "--fail-on", fail_on, profile.name)

    assert "quota-exceeds-pools" in outcome.out
    assert code == outcome.code


def test_several_profiles_are_checked_together(run: Run, profile: Path) -> None:
    """Findings of all files come in one run."""
    other = profile.with_name("other.yaml")
    other.write_text(PROFILE.replace("name: lab", "name: other").replace("cpu: 64", "cpu: x"))
    profile.write_text(PROFILE.replace("cpu: 64", "cpu: z"))

    outcome = run("check", profile.name, other.name)

    assert outcome.out.endswith("2 errors\n")


def test_two_profiles_of_one_name_are_refused(run: Run, profile: Path) -> None:
    """They would share a tree."""
    profile.with_name("copy.yaml").write_text(PROFILE)

    outcome = run("build", profile.name, "copy.yaml")

    assert 2 == outcome.code
    assert 'two profiles have the name "lab"' in outcome.err


@pytest.mark.parametrize(
    ("what", "parts"),
    [
        ((), ["packing dominates by at least", "NodeResourcesFit", "Margins"]),
        (("priority-classes.yaml",), ["PriorityClass/high", "because", "lab.profile.yaml:9"]),
        (("out/lab/priority-classes.yaml#high:value",), ["value = 1000", "lab.profile.yaml:9:27"]),
        (
            ("kueue/cluster-queues.yaml#main:spec.resourceGroups[0].flavors[0].resources[2].nominalQuota",),
            ["16"],
        ),
        (("spec.queues[0].quota",), ["kueue/cluster-queues.yaml"]),
    ],
)
def test_explain_names_reasons_and_lines(
    run: Run, profile: Path, what: tuple[str, ...], parts: list[str]
) -> None:
    """Any field of any file can be asked for, and any value of the profile."""
    outcome = run("explain", profile.name, *what)

    assert (0, "") == (outcome.code, outcome.err)
    for part in parts:
        assert part in outcome.out


def test_explain_a_line_of_the_profile(run: Run, profile: Path) -> None:
    """A line of the profile leads to what follows from it."""
    outcome = run("explain", "lab.profile.yaml:9")

    assert 0 == outcome.code
    assert "priority-classes.yaml" in outcome.out


def test_explain_a_rule(run: Run) -> None:
    """A code prints the rule's page; one that there is not ends with 2."""
    assert "BP201 packing-not-dominant" in run("explain", "BP201").out
    assert 2 == run("explain", "BP298").code


@pytest.mark.parametrize("what", ["nothing.yaml", "priority-classes.yaml#high:spec.none", "spec.nope"])
def test_explain_says_what_there_is_not(run: Run, profile: Path, what: str) -> None:
    """A path that leads nowhere ends with 2 and one line."""
    outcome = run("explain", profile.name, what)

    assert (2, 1) == (outcome.code, outcome.err.count("\n"))


@pytest.mark.parametrize("preset", ["minimal", "training", "cpu-batch"])
def test_every_preset_builds_without_findings(run: Run, preset: str) -> None:
    """A first profile is good as it comes, without a terminal nothing is asked."""
    written = run("init", "--preset", preset)
    checked = run("check", "--fail-on", "note", "cluster.profile.yaml")

    assert 0 == written.code
    assert (0, "no findings\n") == (checked.code, checked.out)


def test_init_never_overwrites(run: Run, profile: Path) -> None:
    """An existing file stays as it is."""
    outcome = run("init", profile.name)

    assert 2 == outcome.code
    assert PROFILE == profile.read_text()


def test_the_published_schema_is_fresh(run: Run) -> None:
    """schemas/ holds what the command prints."""
    published = (ROOT / "schemas/clusterprofile-v1alpha1.json").read_text()

    assert published == run("schema").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(run: Run, shell: str) -> None:
    """The script names the program and its completion variable."""
    outcome = run("completion", shell)

    assert 0 == outcome.code
    assert "_BINPACKGEN_COMPLETE" in outcome.out


def test_a_missing_profile_is_a_finding(run: Run) -> None:
    """A file that is not there is said so, without a traceback."""
    outcome = run("build", "none.yaml")

    assert 1 == outcome.code
    assert "none.yaml" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_folder_that_cannot_be_made_ends_with_two(run: Run, profile: Path) -> None:
    """What the system refuses is said in one line."""
    outcome = run("build", profile.name, "-d", f"{profile.name}/out")

    assert (2, 1) == (outcome.code, outcome.err.count("\n"))


def test_output_is_the_same_under_any_hash_seed_and_locale(run: Run, profile: Path) -> None:
    """Same input, same bytes."""
    outcomes = {
        run("build", profile.name, "-o", "yaml", PYTHONHASHSEED=seed, LC_ALL=locale, TZ=zone).out
        for seed, locale, zone in (("0", "C", "UTC"), ("1", "C.UTF-8", "Asia/Tokyo"), ("77", "POSIX", "UTC"))
    }

    assert 1 == len(outcomes)
