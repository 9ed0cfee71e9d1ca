module binpackgen.dev/e2e/karpenter

go 1.25.0

require sigs.k8s.io/karpenter v1.14.0
