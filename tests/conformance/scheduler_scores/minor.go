package main

import (
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

func noEvents(string) events.EventRecorderLogger { return events.NewFakeRecorder(0) }

func ofThisMinor(factory informers.SharedInformerFactory, nodes *currentSnapshot) []frameworkruntime.Option {
	return []frameworkruntime.Option{
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithMutableSnapshotLister(nodes),
		frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
	}
}

// noNominations is the nominator of a scheduler that has preempted nothing yet.
type noNominations struct{ fwk.PodNominator }

func (noNominations) NominatedPodsForNode(string) []fwk.PodInfo { return nil }

// taken is the root of the heap that the scheduler makes of the nodes.
func taken(scored []fwk.NodePluginScores) string {
	return framework.NewSortedScoredNodes(scored).Pop().Name
}
