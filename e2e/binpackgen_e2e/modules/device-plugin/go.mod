module binpackgen.dev/e2e/device-plugin

go 1.25.0

require github.com/NVIDIA/k8s-device-plugin v0.19.0
