package nodeutilizationcap

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-base/metrics/legacyregistry"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// list is a resource list from "cpu=2 memory=8Gi".
func list(text string) v1.ResourceList {
	found := v1.ResourceList{}
	for _, entry := range strings.Fields(text) {
		name, quantity, _ := strings.Cut(entry, "=")
		found[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return found
}

func container(requests string) v1.Container {
	return v1.Container{Resources: v1.ResourceRequirements{Requests: list(requests)}}
}

// pod is a pod with one container.
func pod(requests string) *v1.Pod {
	return &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{container(requests)}}}
}

func node(allocatable string) *v1.Node {
	result := &v1.Node{Status: v1.NodeStatus{Allocatable: list(allocatable)}}
	result.Name = "n"
	return result
}

// holding is what plugins see of a node with pods on it.
func holding(node *v1.Node, pods ...*v1.Pod) *framework.NodeInfo {
	info := framework.NewNodeInfo(pods...)
	info.SetNode(node)
	return info
}

const (
	stated     = `{"minFree": {"cpu": "2", "memory": "8Gi"}}`
	exempting  = `{"minFree": {"cpu": "2", "memory": "8Gi"}, "exemptWholeNode": true}`
	onlyNvidia = `{"minFree": {"cpu": "2", "memory": "8Gi"}, "exemptWholeNode": true, "devices": ["nvidia.com/gpu"]}`
	noCPU      = "node(s) would have less than 2 cpu left"
	noMemory   = "node(s) would have less than 8Gi memory left"
)

func TestFilter(t *testing.T) {
	cpuNode, gpuNode := node("cpu=32 memory=128Gi"), node("cpu=32 memory=128Gi nvidia.com/gpu=4")
	always := v1.ContainerRestartPolicyAlways
	for _, test := range []struct {
		name      string
		arguments string
		node      *v1.Node
		used      string
		pod       *v1.Pod
		code      fwk.Code
		reasons   []string
	}{
		{name: "exactly the cap is left", node: cpuNode, used: "cpu=20 memory=100Gi", pod: pod("cpu=10 memory=20Gi")},
		{name: "a thousandth of a CPU less", node: cpuNode, used: "cpu=20 memory=100Gi", pod: pod("cpu=10001m memory=20Gi"),
			code: fwk.Unschedulable, reasons: []string{noCPU}},
		{name: "a byte less", node: cpuNode, used: "cpu=20 memory=100Gi", pod: pod("cpu=10 memory=21474836481"),
			code: fwk.Unschedulable, reasons: []string{noMemory}},
		{name: "both less", node: cpuNode, used: "cpu=20 memory=100Gi", pod: pod("cpu=11 memory=21Gi"),
			code: fwk.Unschedulable, reasons: []string{noCPU, noMemory}},
		{name: "no preemption would make room", node: cpuNode, used: "cpu=20 memory=100Gi", pod: pod("cpu=31 memory=21Gi"),
			code: fwk.UnschedulableAndUnresolvable, reasons: []string{noCPU, noMemory}},
		{name: "a node smaller than the cap", node: node("cpu=1 memory=128Gi"), pod: pod(""),
			code: fwk.UnschedulableAndUnresolvable, reasons: []string{noCPU}},
		{name: "a full node and a pod that asks for nothing", node: cpuNode, used: "cpu=31", pod: pod(""),
			code: fwk.Unschedulable, reasons: []string{noCPU}},
		{name: "an overcommitted node", node: cpuNode, used: "cpu=40", pod: pod(""), code: fwk.Unschedulable, reasons: []string{noCPU}},
		{name: "no requests count as nothing, not as the scoring defaults", node: cpuNode, used: "cpu=30 memory=120Gi", pod: pod("")},
		{name: "init containers and sidecars and overhead", node: cpuNode, pod: &v1.Pod{Spec: v1.PodSpec{
			InitContainers: []v1.Container{
				{RestartPolicy: &always, Resources: v1.ResourceRequirements{Requests: list("cpu=1")}},
				container("cpu=28"),
			},
			Containers: []v1.Container{container("cpu=2"), container("cpu=2")},
			Overhead:   list("cpu=1"),
		}}},
		{name: "init containers and sidecars and overhead, a little too much", node: cpuNode, pod: &v1.Pod{Spec: v1.PodSpec{
			InitContainers: []v1.Container{
				{RestartPolicy: &always, Resources: v1.ResourceRequirements{Requests: list("cpu=1")}},
				container("cpu=28"),
			},
			Containers: []v1.Container{container("cpu=2"), container("cpu=2")},
			Overhead:   list("cpu=1001m"),
		}}, code: fwk.UnschedulableAndUnresolvable, reasons: []string{noCPU}},
		{name: "resources of the whole pod", node: cpuNode, pod: &v1.Pod{Spec: v1.PodSpec{
			Resources:  &v1.ResourceRequirements{Requests: list("cpu=31")},
			Containers: []v1.Container{container("cpu=2")},
		}}, code: fwk.UnschedulableAndUnresolvable, reasons: []string{noCPU}},
		{name: "a resize of a pod in its place", node: cpuNode, used: "cpu=32", pod: &v1.Pod{Spec: v1.PodSpec{NodeName: "n"}}},

		{name: "a resource that the node lacks", arguments: `{"minFree": {"nvidia.com/gpu": 1}}`, node: cpuNode, pod: pod("cpu=32")},
		{name: "one of the GPUs stays free", arguments: `{"minFree": {"nvidia.com/gpu": 1}}`, node: gpuNode,
			used: "nvidia.com/gpu=2", pod: pod("nvidia.com/gpu=1")},
		{name: "no GPU would stay free", arguments: `{"minFree": {"nvidia.com/gpu": 1}}`, node: gpuNode,
			used: "nvidia.com/gpu=2", pod: pod("nvidia.com/gpu=2"),
			code: fwk.Unschedulable, reasons: []string{"node(s) would have less than 1 nvidia.com/gpu left"}},
		{name: "all devices are broken", arguments: `{"minFree": {"nvidia.com/gpu": 1}}`, node: node("cpu=32 nvidia.com/gpu=0"), pod: pod(""),
			code: fwk.UnschedulableAndUnresolvable, reasons: []string{"node(s) would have less than 1 nvidia.com/gpu left"}},

		{name: "all GPUs without an exemption", node: gpuNode, pod: pod("cpu=32 memory=128Gi nvidia.com/gpu=4"),
			code: fwk.UnschedulableAndUnresolvable, reasons: []string{noCPU, noMemory}},
		{name: "all GPUs", arguments: exempting, node: gpuNode, pod: pod("cpu=32 memory=128Gi nvidia.com/gpu=4")},
		{name: "all GPUs but one", arguments: exempting, node: gpuNode, pod: pod("cpu=31 nvidia.com/gpu=3"),
			code: fwk.UnschedulableAndUnresolvable, reasons: []string{noCPU}},
		{name: "a node without GPUs is never whole", arguments: exempting, node: cpuNode, pod: pod("cpu=31"),
			code: fwk.UnschedulableAndUnresolvable, reasons: []string{noCPU}},
		{name: "hugepages are no devices", arguments: exempting, node: node("cpu=32 memory=128Gi hugepages-2Mi=1Gi"),
			pod: pod("cpu=31 hugepages-2Mi=1Gi"), code: fwk.UnschedulableAndUnresolvable, reasons: []string{noCPU}},
		{name: "of two kinds of devices one", arguments: exempting, node: node("cpu=32 memory=128Gi nvidia.com/gpu=4 example.com/nic=2"),
			pod: pod("cpu=31 nvidia.com/gpu=4"), code: fwk.UnschedulableAndUnresolvable, reasons: []string{noCPU}},
		{name: "of two kinds of devices the one that counts", arguments: onlyNvidia,
			node: node("cpu=32 memory=128Gi nvidia.com/gpu=4 example.com/nic=2"), pod: pod("cpu=31 nvidia.com/gpu=4")},
		{name: "of two kinds of devices the one that does not", arguments: onlyNvidia,
			node: node("cpu=32 memory=128Gi nvidia.com/gpu=4 example.com/nic=2"), pod: pod("cpu=31 example.com/nic=2"),
			code: fwk.UnschedulableAndUnresolvable, reasons: []string{noCPU}},
		{name: "all devices that are sound", arguments: exempting, node: node("cpu=32 memory=128Gi nvidia.com/gpu=3"), pod: pod("cpu=31 nvidia.com/gpu=3")},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.arguments == "" {
				test.arguments = stated
			}
			plugin := newCap(t, test.arguments)

			status := plugin.Filter(context.Background(), framework.NewCycleState(), test.pod, holding(test.node, pod(test.used)))

			var reasons []string
			if status != nil {
				reasons = status.Reasons()
			}
			if test.code != status.Code() || !reflect.DeepEqual(test.reasons, reasons) {
				t.Errorf("want %v %q, got %v %q", test.code, test.reasons, status.Code(), reasons)
			}
		})
	}
}

// The decision is the same as of arithmetic without bounds, also where int64 nearly ends.
func TestFilterAgainstBigNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(37, 2))
	pick := func() int64 {
		switch random.IntN(4) {
		case 0:
			return random.Int64N(10)
		case 1:
			return random.Int64N(1 << 40)
		case 2:
			return math.MaxInt64 - random.Int64N(10)
		}
		return random.Int64()
	}
	refused := 0
	for range 20_000 {
		whole, used, asked, minFree := pick(), pick(), pick(), max(pick(), 1)
		if free := whole - used; free > minFree && random.IntN(2) == 0 { // just at the edge
			asked = free - minFree + random.Int64N(3) - 1
		}
		info := holding(node("cpu=1"))
		info.Node().Status.Allocatable[v1.ResourceMemory] = *resource.NewQuantity(whole, resource.BinarySI)
		info.Allocatable.Memory, info.Requested.Memory = whole, used
		incoming := pod("")
		incoming.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(asked, resource.BinarySI)}
		plugin := &Cap{limits: []limit{{name: v1.ResourceMemory, minFree: minFree, reason: noMemory, rejected: rejections("memory", t.Name())}}}

		actual := plugin.Filter(context.Background(), framework.NewCycleState(), incoming, info).Code()

		left := func(parts ...int64) *big.Int {
			sum := big.NewInt(whole)
			for _, part := range parts {
				sum.Sub(sum, big.NewInt(part))
			}
			return sum
		}
		expected := fwk.Success
		if left(used, asked).Cmp(big.NewInt(minFree)) < 0 {
			expected, refused = fwk.Unschedulable, refused+1
			if left(asked).Cmp(big.NewInt(minFree)) < 0 {
				expected = fwk.UnschedulableAndUnresolvable
			}
		}
		if expected != actual {
			t.Fatalf("allocatable %d, used %d, asked %d, cap %d: want %v, got %v", whole, used, asked, minFree, expected, actual)
		}
	}
	if refused < 2_000 || refused > 18_000 {
		t.Errorf("%d of 20000 cases were refused: the cases are lopsided", refused)
	}
}

// What is left is told as it is, in the unit of the resource.
func TestQuantity(t *testing.T) {
	for expected, actual := range map[string]string{
		"500m":                 quantity("cpu", 2500, 2000),
		"-1":                   quantity("cpu", 1000, 2000),
		"7Gi":                  quantity("memory", 8<<30, 1<<30),
		"1":                    quantity("nvidia.com/gpu", 2, 1),
		"-9223372036854775810": quantity("memory", -3, math.MaxInt64),
	} {
		if expected != actual {
			t.Errorf("want %s, got %s", expected, actual)
		}
	}
}

// Refusals are counted by resource and profile, on the registry that the scheduler serves.
func TestRejectionsAreCounted(t *testing.T) {
	rejectionsTotal.Reset()
	plugin := newCap(t, stated)
	full := holding(node("cpu=4 memory=16Gi"), pod("cpu=3"))
	for range 3 {
		plugin.Filter(context.Background(), framework.NewCycleState(), pod(""), full)
	}
	plugin.Filter(context.Background(), framework.NewCycleState(), pod("memory=15Gi"), full)

	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	actual := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "scheduler_node_utilization_cap_rejections_total" {
			continue
		}
		for _, sample := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range sample.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["profile"] == t.Name() {
				actual[labels["resource"]] = sample.GetCounter().GetValue()
			}
		}
	}
	if expected := map[string]float64{"cpu": 4, "memory": 1}; !reflect.DeepEqual(expected, actual) {
		t.Errorf("want %v, got %v", expected, actual)
	}
}

// Equal requests sign equally, others do not.
func TestSignature(t *testing.T) {
	plugin := newCap(t, stated)
	sign := func(requests string) string {
		fragments, status := plugin.SignPod(context.Background(), pod(requests))
		if !status.IsSuccess() || len(fragments) != 1 {
			t.Fatal(fragments, status)
		}
		return fmt.Sprintf("%s %+v", fragments[0].Key, fragments[0].Value)
	}
	if sign("cpu=1") != sign("cpu=1000m") || sign("cpu=1") == sign("cpu=2") {
		t.Error(sign("cpu=1"), sign("cpu=1000m"), sign("cpu=2"))
	}
}

func BenchmarkFilter(b *testing.B) {
	for name, incoming := range map[string]*v1.Pod{"cpu": pod("cpu=1 memory=1Gi"), "gpu": pod("cpu=1 memory=1Gi nvidia.com/gpu=1")} {
		b.Run(name, func(b *testing.B) {
			plugin := newCap(b, exempting)
			info, state := holding(node("cpu=32 memory=128Gi nvidia.com/gpu=4"), pod("cpu=4")), framework.NewCycleState()
			for b.Loop() {
				plugin.Filter(context.Background(), state, incoming, info)
			}
		})
	}
}
