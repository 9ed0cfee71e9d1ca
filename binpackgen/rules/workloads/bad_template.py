from __future__ import annotations

from ..rule import Rule


class BadTemplate(Rule):
    """
    ## What it does
    Reports job templates that do not give one Job, CronJob or JobSet: no valid template, a value that there is
    none of, or an object of another kind or shape.

    ## Why it matters
    No manifest can be made of the jobs that name the template.

    ## Fails
    A template in the folder given by `--templates` that ends with `kind: Pod`.

    ## Passes
    The built-in templates; `templates/` has them to start from.

    ## Fix
    The finding stands in the template's own file, at the line that is wrong.

    ## References
    The page on job templates.
    """

    code = "BP510"
    stage = "output"
