package main

import (
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

func noEvents(string) events.EventRecorder { return events.NewFakeRecorder(0) }

func ofThisMinor(informers.SharedInformerFactory, *currentSnapshot) []frameworkruntime.Option {
	return nil
}

// noNominations is the nominator of a scheduler that has preempted nothing yet.
type noNominations struct{ framework.PodNominator }

func (noNominations) NominatedPodsForNode(string) []fwk.PodInfo { return nil }

// taken is not settled in this minor: chance decides among the nodes of the highest total.
func taken([]framework.NodePluginScores) string { return "" }
