"""The names that controllers derive from a job's name, and what the API says about their length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

#: Most characters of a DNS label.
MAX_LABEL = 63

#: A CronJob's name leaves room for the 11 characters that its controller appends (kubernetes v1.37.2,
#: pkg/apis/batch/validation/validation.go, ValidateCronJobCreate).
_CRON_RESERVE = "-0000000000"
#: What it does append: the scheduled minute since 1970.
_CRON_SUFFIX = "-00000000"

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")


def longest_name(body: dict[str, Any]) -> str:
    """The longest name that follows from a Job, CronJob or JobSet; digits and letters stand for any."""
    return max(_names(body), key=len)


def name_problem(body: dict[str, Any]) -> str | None:
    """Why the API would refuse a manifest for its name, or None."""
    name = body["metadata"]["name"]
    if body["kind"] == "JobSet" and not _DNS_1035.match(name):
        return f'"{name}" is no name for a JobSet: it starts with a letter and has only a-z, 0-9 and "-"'
    longest = longest_name(body)
    if len(longest) > MAX_LABEL:
        return (
            f'the name "{name}" is {len(longest) - MAX_LABEL} characters too long for this {body["kind"]}: names '
            f"such as {longest} follow from it, and a name has at most {MAX_LABEL}"
        )
    return None


def _names(body: dict[str, Any]) -> Iterator[str]:
    name, spec = body["metadata"]["name"], body["spec"]
    yield name
    if body["kind"] == "Job":
        yield name + _last_index(spec)
    elif body["kind"] == "CronJob":
        yield name + _CRON_RESERVE
        yield name + _CRON_SUFFIX + _last_index(spec["jobTemplate"]["spec"])
    else:
        # jobset v0.11.0, pkg/webhooks/jobset_webhook.go, ValidateCreate
        for replicated in spec["replicatedJobs"]:
            job = f"{name}-{replicated['name']}-{whole_number(replicated, 'replicas') - 1}"
            yield job
            index = _last_index({"completionMode": "Indexed", **replicated["template"]["spec"]})
            if index:
                yield f"{job}{index}-abcde"


def _last_index(spec: dict[str, Any]) -> str:
    """What the last pod of an indexed Job has after the Job's name."""
    if spec.get("completionMode") != "Indexed" or "completions" not in spec:
        return ""
    return f"-{whole_number(spec, 'completions') - 1}"


def whole_number(spec: dict[str, Any], key: str) -> int:
    """A count of a Job or JobSet; 1 where it is left to its default."""
    value = spec.get(key, 1)
    return value if isinstance(value, int) else 1
