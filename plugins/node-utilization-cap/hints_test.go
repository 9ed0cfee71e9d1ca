package nodeutilizationcap

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// placed is a pod on a node.
func placed(requests string) *v1.Pod {
	result := pod(requests)
	result.Spec.NodeName, result.UID = "n", "placed"
	return result
}

// named is a pod by its own identity.
func named(uid types.UID, requests string) *v1.Pod {
	result := pod(requests)
	result.UID = uid
	return result
}

// A refused pod is tried again after what may have made room for it, and after nothing else.
func TestHints(t *testing.T) {
	nominated := pod("cpu=1")
	nominated.Status.NominatedNodeName = "n"
	for _, test := range []struct {
		name      string
		arguments string
		event     fwk.ClusterEvent
		pod       *v1.Pod
		old, new  any
		expected  fwk.QueueingHint
	}{
		{name: "a pod leaves", event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, old: placed("cpu=1"), expected: fwk.Queue},
		{name: "a nominated pod leaves", event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, old: nominated, expected: fwk.Queue},
		{name: "a waiting pod leaves", event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, old: pod("cpu=1")},
		{name: "a pod leaves that held nothing capped", event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, old: placed("nvidia.com/gpu=1")},
		{name: "a pod shrinks", event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.UpdatePodScaleDown},
			old: placed("cpu=2"), new: placed("cpu=1"), expected: fwk.Queue},
		{name: "a pod grows", event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.UpdatePodScaleDown}, old: placed("cpu=1"), new: placed("cpu=2")},
		{name: "it shrinks itself", event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.UpdatePodScaleDown}, pod: named("self", "cpu=2"),
			old: named("self", "cpu=2"), new: named("self", "cpu=1"), expected: fwk.Queue},
		{name: "another waiting pod shrinks", event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.UpdatePodScaleDown}, pod: named("self", "cpu=2"),
			old: named("other", "cpu=2"), new: named("other", "cpu=1")},
		{name: "a node comes", event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}, new: node("cpu=4 memory=16Gi"), expected: fwk.Queue},
		{name: "a node comes that is too small", event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}, new: node("cpu=2 memory=16Gi")},
		{name: "a node comes that is just whole", arguments: exempting, event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add},
			pod: pod("cpu=2 nvidia.com/gpu=4"), new: node("cpu=2 memory=16Gi nvidia.com/gpu=4"), expected: fwk.Queue},
		{name: "a node grows", event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeAllocatable},
			old: node("cpu=2 memory=16Gi"), new: node("cpu=4 memory=16Gi"), expected: fwk.Queue},
		{name: "a node grows by what is not capped", event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeAllocatable},
			old: node("cpu=4 memory=16Gi"), new: node("cpu=4 memory=16Gi pods=10")},
		{name: "a node shrinks", event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeAllocatable},
			old: node("cpu=8 memory=16Gi"), new: node("cpu=4 memory=16Gi")},
		{name: "a device breaks, and the rest is what the pod takes", arguments: exempting, event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeAllocatable},
			pod: pod("cpu=4 nvidia.com/gpu=3"), old: node("cpu=4 memory=16Gi nvidia.com/gpu=4"), new: node("cpu=4 memory=16Gi nvidia.com/gpu=3"), expected: fwk.Queue},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.arguments == "" {
				test.arguments = stated
			}
			if test.pod == nil {
				test.pod = pod("cpu=1")
			}
			events, err := newCap(t, test.arguments).EventsToRegister(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			for _, event := range events {
				if event.Event.Resource != test.event.Resource || event.Event.ActionType&test.event.ActionType == 0 {
					continue
				}
				asked++
				actual, err := event.QueueingHintFn(klog.Background(), test.pod, test.old, test.new)
				if err != nil || test.expected != actual {
					t.Errorf("want %v, got %v, %v", test.expected, actual, err)
				}
				if hint, err := event.QueueingHintFn(klog.Background(), test.pod, "odd", "odd"); err == nil || hint != fwk.Queue {
					t.Errorf("an unknown object is an error and leads to a retry, got %v, %v", hint, err)
				}
			}
			if asked != 1 {
				t.Errorf("%d hints for the event", asked)
			}
		})
	}
}
