package nodeutilizationcap

import (
	"context"

	v1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// EventsToRegister are the events after which a refused pod may find a node: a pod leaves or shrinks, it shrinks
// itself, a node comes or grows.
func (c *Cap) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, QueueingHintFn: c.afterPodDeletion},
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.UpdatePodScaleDown}, QueueingHintFn: c.afterPodScaleDown},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAllocatable}, QueueingHintFn: c.afterNodeChange},
	}, nil
}

func (c *Cap) afterPodDeletion(_ klog.Logger, _ *v1.Pod, oldObj, newObj interface{}) (fwk.QueueingHint, error) {
	gone, _, err := schedutil.As[*v1.Pod](oldObj, newObj)
	if err != nil {
		return fwk.Queue, err
	}
	if gone.Spec.NodeName == "" && gone.Status.NominatedNodeName == "" {
		return fwk.QueueSkip, nil
	}
	return queueIf(c.anyLess(&framework.Resource{}, occupied(gone))), nil
}

func (c *Cap) afterPodScaleDown(_ klog.Logger, pod *v1.Pod, oldObj, newObj interface{}) (fwk.QueueingHint, error) {
	before, after, err := schedutil.As[*v1.Pod](oldObj, newObj)
	if err != nil {
		return fwk.Queue, err
	}
	if after.Spec.NodeName == "" && after.UID != pod.UID {
		return fwk.QueueSkip, nil
	}
	return queueIf(c.anyLess(occupied(after), occupied(before))), nil
}

func (c *Cap) afterNodeChange(_ klog.Logger, pod *v1.Pod, oldObj, newObj interface{}) (fwk.QueueingHint, error) {
	before, after, err := schedutil.As[*v1.Node](oldObj, newObj)
	if err != nil {
		return fwk.Queue, err
	}
	request, allocatable := requests(pod), framework.NewResource(after.Status.Allocatable)
	exempt := c.exemptWholeNode && c.takesAllDevices(request, allocatable)
	if !exempt && !c.fitsEmpty(request, after, allocatable) {
		return fwk.QueueSkip, nil
	}
	if before == nil {
		return fwk.Queue, nil
	}
	old := framework.NewResource(before.Status.Allocatable)
	return queueIf(c.anyLess(old, allocatable) || exempt != (c.exemptWholeNode && c.takesAllDevices(request, old))), nil
}

// fitsEmpty says whether the cap would let the pod onto the node with nothing else on it.
func (c *Cap) fitsEmpty(request fwk.Resource, node *v1.Node, allocatable fwk.Resource) bool {
	for _, limit := range c.limits {
		_, offered := node.Status.Allocatable[limit.name]
		if offered && !fits(amount(allocatable, limit.name), amount(request, limit.name), limit.minFree) {
			return false
		}
	}
	return true
}

// anyLess says whether there is less of a capped resource in one than in the other.
func (c *Cap) anyLess(one, other fwk.Resource) bool {
	for _, limit := range c.limits {
		if amount(one, limit.name) < amount(other, limit.name) {
			return true
		}
	}
	return false
}

func queueIf(helps bool) fwk.QueueingHint {
	if helps {
		return fwk.Queue
	}
	return fwk.QueueSkip
}

// occupied is what the scheduler counts for a pod on a node: while a resize is on its way, the larger figure.
func occupied(pod *v1.Pod) *framework.Resource {
	return framework.NewResource(podresource.PodRequests(pod, podresource.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}))
}
