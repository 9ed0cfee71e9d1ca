"""What kube-scheduler does, as facts per Kubernetes minor and as its own integer arithmetic."""
