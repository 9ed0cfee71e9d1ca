"""Rules that know another program's own rules: cron, the kubelet's labels, names that controllers derive."""

from __future__ import annotations

from pathlib import Path

import pytest

from binpackgen.plan.node_labels import may_label_itself
from binpackgen.rules.pools.invalid_resource_name import extended_resource_problem
from binpackgen.rules.workloads.invalid_cron import cron_problem
from tests.rules.rule_examples import findings_of

CASES = Path(__file__).parents[3] / "shared" / "cases"


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "0 2 * * *",
        "*/15 0-6,22 1 jan,MAR-Jun mon-FRI",
        "5/10 * ? * ?",
        "0 0 31 1,2 *",
        "0 0 30 2 MON",  # either of the two days is enough
        "*/61 * * * *",  # a step beyond the range leaves its first value
        "  0   0 * * 0  ",
        "1,2,3-5/2 * * * *",
        "@hourly",
        "@daily",
        "@every 1h30m",
        "@every 90s",
    ],
)
def test_schedules_that_kubernetes_takes(schedule: str) -> None:
    """What robfig/cron's ParseStandard reads is no finding."""
    assert cron_problem(schedule) is None


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("", "it has 0 fields, and a schedule has 5: minute, hour, day, month, day of the week"),
        ("0 2 * *", "it has 4 fields, and a schedule has 5: minute, hour, day, month, day of the week"),
        ("0 0 2 * * *", "it has 6 fields, and a schedule has 5: minute, hour, day, month, day of the week"),
        ("61 * * * *", 'minute "61": 61 is not between 0 and 59'),
        ("* 24 * * *", 'hour "24": 24 is not between 0 and 23'),
        ("0 0 0 * *", 'day of the month "0": 0 is not between 1 and 31'),
        ("0 0 * 13 *", 'month "13": 13 is not between 1 and 12'),
        ("0 0 * * 7", 'day of the week "7": 7 is not between 0 and 6'),
        (
            "0 0 * * sunday",
            'day of the week "sunday": "sunday" is no number and none of sun, mon, tue, wed, thu, fri, sat',
        ),
        ("30-10 * * * *", 'minute "30-10": the range 30-10 falls'),
        ("1-2-3 * * * *", 'minute "1-2-3": "2-3" is no number'),
        ("*/0 * * * *", 'minute "*/0": the step "0" is no positive number'),
        ("*/-1 * * * *", 'minute "*/-1": the step "-1" is no positive number'),
        ("1/2/3 * * * *", 'minute "1/2/3": the step "2/3" is no positive number'),
        ("a * * * *", 'minute "a": "a" is no number'),
        ("1,,2 * * * *", 'minute "1,,2": "" is no number'),
        ("0 0 31 2,4 *", "it never fires: no month among [2, 4] has a day 31"),
        (
            "TZ=UTC 0 0 * * *",
            "a schedule may not name a time zone; Kubernetes runs it in the controller's zone, mostly UTC",
        ),
        (
            "CRON_TZ=UTC 0 0 * * *",
            "a schedule may not name a time zone; Kubernetes runs it in the controller's zone, mostly UTC",
        ),
        (
            "@nightly",
            '"@nightly" is none of @annually, @daily, @hourly, @midnight, @monthly, @weekly, @yearly and @every with a duration',
        ),
        (
            "@every day",
            '"@every day" is none of @annually, @daily, @hourly, @midnight, @monthly, @weekly, @yearly and @every with a duration',
        ),
    ],
)
def test_schedules_that_kubernetes_refuses_or_never_runs(schedule: str, problem: str) -> None:
    """Each with what is wrong with it."""
    assert problem == cron_problem(schedule)


@pytest.mark.parametrize(
    ("key", "restricted"),
    [
        ("node-role.kubernetes.io/gpu", True),
        ("kubernetes.io/role", True),
        ("topology.kubernetes.io/rack", True),
        ("node-restriction.kubernetes.io/gpu", True),
        ("k8s.io/pool", True),
        ("x.k8s.io/pool", True),
        ("topology.kubernetes.io/zone", False),
        ("topology.kubernetes.io/region", False),
        ("node.kubernetes.io/gpu-pool", False),
        ("a.node.kubernetes.io/b", False),
        ("kubelet.kubernetes.io/x", False),
        ("kubernetes.io/hostname", False),
        ("nvidia.com/gpu.present", False),
        ("mykubernetes.io/x", False),
        ("gpu-pool", False),
    ],
)
def test_labels_that_a_kubelet_may_not_give_itself(key: str, restricted: bool) -> None:
    """As the kubelet's flag validation has it (case lb02 and its neighbors)."""
    assert restricted is not may_label_itself(key)


@pytest.mark.parametrize(
    ("name", "fine"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/mig-1g.5gb.me", True),
        ("amd.com/gpu", True),
        ("gpu", False),
        ("kubernetes.io/gpu", False),
        ("node.kubernetes.io/gpu", False),
        ("requests.nvidia.com/gpu", False),
        ("-/gpu", False),
        ("a.com/" + "x" * 64, False),
        ("a.com/-x", False),
    ],
)
def test_extended_resource_names(name: str, fine: bool) -> None:
    """As the API server has it (case qt04 and its neighbors). A name without a domain cannot be stated at all."""
    if "/" not in name:
        name = f"/{name}"
    assert fine == (extended_resource_problem(name) is None)


@pytest.mark.parametrize(
    ("length", "workers", "fits"),
    [
        (44, 8, True),
        (45, 10, True),
        (46, 10, False),
        (44, 11, True),
        (45, 11, False),
        (43, 101, True),
        (44, 101, False),
    ],
)
def test_names_that_a_jobset_derives(length: int, workers: int, fits: bool) -> None:
    """len(name) + 1 + len(workers) + 1 + digits(replicas - 1) + 1 + digits(workers - 1) + 6 is at most 63
    (case js01): the formula of the JobSet webhook, counted here anew."""
    assert fits == (length + 1 + len("workers") + 1 + 1 + 1 + len(str(workers - 1)) + 6 <= 63)
    job = f"name: {'x' * length}, template: master-workers, workers: {workers}, image: i, each: {{cpu: 100m, memory: 256Mi}}"

    assert fits == (findings_of(f"jobs: [{{{job}}}]\n", "BP508") == [])


@pytest.mark.parametrize(
    ("job", "longest"),
    [
        ("template: etl", 63),
        ('template: etl, schedule: "@daily"', 52),
        ("template: array, completions: 10", 61),
        ("template: array, completions: 11", 60),
        ('template: array, completions: 11, schedule: "@daily"', 49),
        ("template: mine", 63),
    ],
)
def test_longest_names_of_jobs(job: str, longest: int) -> None:
    """A name of this length is taken and one more character is not, where a name can have one more."""

    def found(length: int) -> list[str]:
        text = f"jobs: [{{name: {'x' * length}, {job}, image: i, each: {{cpu: 1, memory: 1Gi}}}}]\n"
        return [finding.message for finding in findings_of(text, "BP508")]

    assert [] == found(longest)
    if longest < 63:
        assert 1 == len(found(longest + 1))


def test_the_names_of_case_js01() -> None:
    """The real webhook's verdicts on names of 44 and 45 characters, with 16 and 101 replicas, by the same sum."""
    if not CASES.is_dir():
        pytest.skip("the collected cases are not here")
    import yaml

    verdicts = {"a-44-chars": True, "b-45-chars": False, "c-44-chars-101-replicas": False}
    for file, accepted in verdicts.items():
        body = yaml.safe_load((CASES / "js01" / f"{file}.yaml").read_text("utf-8"))
        name = body["metadata"]["name"]
        (rjob,) = body["spec"]["replicatedJobs"]
        indexes = rjob["template"]["spec"].get("completions", rjob["template"]["spec"].get("parallelism", 1))
        total = len(f"{name}-{rjob['name']}-{rjob['replicas'] - 1}-{indexes - 1}") + 6

        assert accepted == (total <= 63), (file, total)
