from __future__ import annotations

import re
from collections.abc import Iterator

from ...finding import Finding
from ..rule import Draft, ProfileRule

_MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
_DAYS = {name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)
_NICKNAMES = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_EVERY = re.compile(r"@every ([0-9]+(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))+")
_LONGEST_MONTH = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def cron_problem(schedule: str) -> str | None:
    """Why Kubernetes refuses `schedule`, or why it never fires, or None.

    Kubernetes reads schedules with robfig/cron v3, ParseStandard: five fields, names of months and days, 0 to
    6 for days; and refuses time zones in them (pkg/apis/batch/validation/validation.go).
    """
    if "TZ" in schedule:
        return "a schedule may not name a time zone; Kubernetes runs it in the controller's zone, mostly UTC"
    if schedule.startswith("@"):
        if schedule in _NICKNAMES or _EVERY.fullmatch(schedule):
            return None
        return f'"{schedule}" is none of {", ".join(sorted(_NICKNAMES))} and @every with a duration'
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"it has {len(fields)} fields, and a schedule has 5: minute, hour, day, month, day of the week"
    values: list[set[int]] = []
    for text, (name, low, high, words) in zip(fields, _FIELDS, strict=True):
        found: set[int] = set()
        for part in text.split(","):
            numbers = _range(part, low, high, words)
            if isinstance(numbers, str):
                return f'{name} "{text}": {numbers}'
            found |= numbers
        values.append(found)
    days, months = values[2], values[3]
    # with a restricted day of the week either of the two days is enough
    if fields[4][0] in "*?" and all(min(days) > _LONGEST_MONTH[month] for month in months):
        return f"it never fires: no month among {sorted(months)} has a day {min(days)}"
    return None


def _range(part: str, low: int, high: int, words: dict[str, int]) -> set[int] | str:
    """The numbers that one item of a field stands for, or what is wrong with it."""
    span, slash, step_text = part.partition("/")
    first, dash, last = span.partition("-")
    if first in ("*", "?"):
        start, end = low, high
    else:
        numbers: list[int] = []
        for text in (first, last) if dash else (first,):
            number = words.get(text.lower())
            if number is None:
                if not re.fullmatch(r"[0-9]{1,9}", text):
                    return f'"{text}" is no number' + (f" and none of {', '.join(words)}" if words else "")
                number = int(text)
            numbers.append(number)
        start, end = numbers[0], numbers[-1]
        if slash and not dash:
            end = high
    if not low <= start <= high or not low <= end <= high:
        wrong = start if not low <= start <= high else end
        return f"{wrong} is not between {low} and {high}"
    if start > end:
        return f"the range {start}-{end} falls"
    step = 1
    if slash:
        if not re.fullmatch(r"[0-9]{1,9}", step_text) or int(step_text) == 0:
            return f'the step "{step_text}" is no positive number'
        step = int(step_text)
    return set(range(start, end + 1, step))


class InvalidCron(ProfileRule):
    """
    ## What it does
    Reports schedules that Kubernetes refuses, and those that never fire.

    ## Why it matters
    The API server refuses the CronJob, or the job never runs and nothing says so.

    ## Fails
    ```yaml
    jobs:
      - name: etl
        template: etl
        schedule: "0 25 * * *"  # <-
        image: example.com/etl:1
        each: {cpu: 4, memory: 16Gi}
    ```

    ## Passes
    ```yaml
    jobs:
      - name: etl
        template: etl
        schedule: "*/15 0-6,22 * JAN-JUN MON-FRI"
        image: example.com/etl:1
        each: {cpu: 4, memory: 16Gi}
    ```

    ## Fix
    Write five fields: minute, hour, day of the month, month, day of the week (0 is Sunday, 7 is not allowed).

    ## References
    https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-syntax; robfig/cron v3
    """

    code = "BP511"

    def check(self, draft: Draft) -> Iterator[Finding]:
        for index, job in enumerate(draft.spec.jobs):
            problem = cron_problem(job.schedule) if job.schedule is not None else None
            if problem is not None:
                yield self.finding(
                    draft.span("jobs", index, "schedule"),
                    f'the schedule of job "{job.name}" is refused or useless: {problem}',
                    'write five fields such as "0 2 * * *"',
                )
