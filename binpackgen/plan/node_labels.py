"""Which labels of kubernetes.io and k8s.io a kubelet may give its own node."""

from __future__ import annotations

#: Labels of kubernetes.io and k8s.io that a kubelet may give its own node: these, and everything in the two
#: domains. Any other one ends the kubelet (k8s.io/kubelet v0.37.2, pkg/apis/well_known_labels.go).
SELF_LABELS = frozenset(
    (
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    )
)
SELF_LABEL_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
RESERVED_DOMAINS = ("kubernetes.io", "k8s.io")


def may_label_itself(key: str) -> bool:
    """Whether a kubelet may set the label on its own node (--node-labels)."""
    domain = key.rpartition("/")[0]
    if not within(domain, RESERVED_DOMAINS):
        return True
    return key in SELF_LABELS or within(domain, SELF_LABEL_DOMAINS)


def within(domain: str, domains: tuple[str, ...]) -> bool:
    """Whether `domain` is one of `domains` or below one."""
    return any(domain == one or domain.endswith(f".{one}") for one in domains)
