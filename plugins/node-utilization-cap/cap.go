// Package nodeutilizationcap is a kube-scheduler plugin that keeps part of every node free: a node that has
// less left than the cap, or would have with the pod on it, takes no further pod.
package nodeutilizationcap

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Name is the plugin's name in a profile.
const Name = "NodeUtilizationCap"

// Cap filters out nodes that would have too little left.
type Cap struct {
	limits          []limit // by name, so that reasons come in a fixed order
	exemptWholeNode bool
	devices         []v1.ResourceName // none stands for all extended resources
}

// limit is what stays free of one resource: thousandths of cpu, bytes, or a count.
type limit struct {
	name     v1.ResourceName
	minFree  int64
	reason   string // one text for all nodes, so that the scheduler counts nodes instead of listing them
	rejected counter
}

var (
	_ fwk.FilterPlugin      = &Cap{}
	_ fwk.EnqueueExtensions = &Cap{}
	_ fwk.SignPlugin        = &Cap{}
)

// New makes the plugin of one profile.
func New(_ context.Context, configuration runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	arguments, err := decode(configuration)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", Name, err)
	}
	plugin := &Cap{exemptWholeNode: arguments.ExemptWholeNode, devices: arguments.Devices}
	minFree := framework.NewResource(arguments.MinFree)
	for _, name := range slices.Sorted(maps.Keys(arguments.MinFree)) {
		stated := arguments.MinFree[name]
		plugin.limits = append(plugin.limits, limit{
			name:     name,
			minFree:  amount(minFree, name),
			reason:   fmt.Sprintf("node(s) would have less than %s %s left", stated.String(), name),
			rejected: rejections(name, handle.ProfileName()),
		})
	}
	return plugin, nil
}

// Name is the plugin's name in a profile.
func (c *Cap) Name() string { return Name }

// Filter refuses a node that would have less left of a resource than the cap. Also pods that request nothing of
// it are refused: what they use all the same is what the headroom is for. A node that does not offer the resource
// has no cap on it.
func (c *Cap) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	if pod.Spec.NodeName != "" {
		return nil // a resize of a pod that is on its node, and counted there
	}
	request, node, allocatable, used := once(state, pod), nodeInfo.Node(), nodeInfo.GetAllocatable(), nodeInfo.GetRequested()
	if c.exemptWholeNode && c.takesAllDevices(request, allocatable) {
		return nil
	}
	code, reasons := fwk.Unschedulable, []string(nil)
	for _, limit := range c.limits {
		if _, offered := node.Status.Allocatable[limit.name]; !offered {
			continue
		}
		asked, whole := amount(request, limit.name), amount(allocatable, limit.name)
		free := whole - amount(used, limit.name)
		if fits(free, asked, limit.minFree) {
			continue
		}
		if !fits(whole, asked, limit.minFree) {
			code = fwk.UnschedulableAndUnresolvable // not even with all other pods gone
		}
		reasons = append(reasons, limit.reason)
		limit.rejected.Inc()
		if logger := klog.FromContext(ctx).V(5); logger.Enabled() {
			logger.Info("Node would have less left than the cap", "pod", klog.KObj(pod), "node", klog.KObj(node),
				"resource", limit.name, "left", quantity(limit.name, free, asked), "minFree", quantity(limit.name, limit.minFree, 0))
		}
	}
	if reasons == nil {
		return nil
	}
	return fwk.NewStatus(code, reasons...)
}

// fits says whether minFree is left of free without asked; none of the differences can overflow.
func fits(free, asked, minFree int64) bool {
	return free >= minFree && free-minFree >= asked
}

// takesAllDevices says whether the request leaves no device of the node to others.
func (c *Cap) takesAllDevices(request, allocatable fwk.Resource) bool {
	offers := false
	for name, count := range allocatable.GetScalarResources() {
		if count == 0 || !c.isDevice(name) {
			continue
		}
		if request.GetScalarResources()[name] < count {
			return false
		}
		offers = true
	}
	return offers
}

func (c *Cap) isDevice(name v1.ResourceName) bool {
	if len(c.devices) > 0 {
		return slices.Contains(c.devices, name)
	}
	return !v1helper.IsNativeResource(name)
}

// SignPod says what placement depends on, so that equal pods can be placed as a batch.
func (c *Cap) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return []fwk.SignFragment{{Key: Name, Value: requests(pod)}}, nil
}

// requests are what NodeResourcesFit counts for a pod: no defaults for what it leaves out.
func requests(pod *v1.Pod) *framework.Resource {
	return framework.NewResource(podresource.PodRequests(pod, podresource.PodResourcesOptions{}))
}

// once are the requests of the pod that this cycle places, summed up for the first node only. A PreFilter would do
// as well, but a profile may enable the plugin at filter alone.
func once(state fwk.CycleState, pod *v1.Pod) fwk.Resource {
	if kept, err := state.Read(Name); err == nil {
		return kept.(keptRequests)
	}
	kept := keptRequests{requests(pod)}
	state.Write(Name, kept)
	return kept
}

// keptRequests are never changed, so that clones of the cycle's state share them.
type keptRequests struct{ *framework.Resource }

// Clone is the value itself.
func (k keptRequests) Clone() fwk.StateData { return k }

// amount is one resource of many: thousandths of cpu, bytes, or a count.
func amount(of fwk.Resource, name v1.ResourceName) int64 {
	switch name {
	case v1.ResourceCPU:
		return of.GetMilliCPU()
	case v1.ResourceMemory:
		return of.GetMemory()
	case v1.ResourceEphemeralStorage:
		return of.GetEphemeralStorage()
	}
	return of.GetScalarResources()[name]
}

// quantity is a difference as a person reads it, below zero where a node is overcommitted.
func quantity(name v1.ResourceName, whole, part int64) string {
	of := func(number int64) *resource.Quantity { return resource.NewQuantity(number, resource.BinarySI) }
	if name == v1.ResourceCPU {
		of = func(number int64) *resource.Quantity { return resource.NewMilliQuantity(number, resource.DecimalSI) }
	}
	result := of(whole)
	result.Sub(*of(part))
	return result.String()
}
