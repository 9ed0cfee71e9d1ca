from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding
from ...profile.types import label_key_problem
from ...source import Path
from ..rule import Draft, ProfileRule


def extended_resource_problem(name: str) -> str | None:
    """Why `name` is no extended resource, or None.

    Source: kubernetes pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName.
    """
    domain = name.partition("/")[0]
    if domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
        return "names under kubernetes.io are Kubernetes' own"
    if name.startswith("requests."):
        return '"requests." belongs in a ResourceQuota only'
    # a quota counts it as requests.<name>, which must be a name too
    problem = label_key_problem(f"requests.{name}")
    return "it is no qualified name, domain/name" if problem else None


class InvalidResourceName(ProfileRule):
    """
    ## What it does
    Reports GPU resources, of pools and of jobs, that Kubernetes does not take as extended resources.

    ## Why it matters
    The API server refuses pods that ask for them, and no node can offer them.

    ## Fails
    ```yaml
    nodePools:
      - {name: gpu, count: 2, cpu: 32, memory: 128Gi, gpu: {type: a100, count: 4, resource: requests.nvidia.com/gpu}}  # <-
    ```

    ## Passes
    ```yaml
    nodePools:
      - {name: gpu, count: 2, cpu: 32, memory: 128Gi, gpu: {type: mi300, count: 4, resource: amd.com/gpu}}
    ```

    ## Fix
    Name the resource as the device plugin does, such as nvidia.com/gpu.

    ## References
    kubernetes pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName
    """

    code = "BP117"

    def check(self, draft: Draft) -> Iterator[Finding]:
        stated: list[tuple[Path, str]] = [
            (("nodePools", index, "gpu", "resource"), pool.gpu.resource)
            for index, pool in enumerate(draft.spec.node_pools)
            if pool.gpu is not None
        ]
        stated += [
            (("jobs", index, key, "gpu", "resource"), shape.gpu.resource)
            for index, _, key, shape in draft.pod_shapes()
            if shape.gpu is not None and shape.gpu.resource is not None
        ]
        for path, name in stated:
            problem = extended_resource_problem(name)
            if problem:
                yield self.finding(
                    draft.span(*path),
                    f'"{name}" is no extended resource: {problem}',
                    "name it as the device plugin does, such as nvidia.com/gpu",
                )
