// Command schedulerscores asks kube-scheduler's own plugins: it reads cases as JSON lines and answers each with
// what the real scheduler framework says about every node.
//
// A line {"configuration": {...}} is a KubeSchedulerConfiguration; it holds for the cases after it. A case is
// {"nodes": [...], "pods": [...], "pod": {...}} with core/v1 objects, and optionally "services",
// "replicationControllers", "replicaSets" and "statefulSets". The answer maps each node to the plugin that
// rejects it, or to its weighted scores by plugin and their total, and names the node that the scheduler takes
// with all nodes examined in the order of the case, if that is settled.
//
// With "budgets", be it an empty list of policy/v1 PodDisruptionBudgets, a pod that no node takes preempts: the
// answer has the victims on each node that preemption could choose, most important first, with the number of
// budgets that their eviction breaks, and the node that it does choose.
//
// What differs between minor versions of the framework is in minor.go; the rest is one file for all of them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkplugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	plfeature "k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"k8s.io/klog/v2"
)

type line struct {
	Configuration json.RawMessage `json:"configuration"`

	Nodes                  []*v1.Node                  `json:"nodes"`
	Pods                   []*v1.Pod                   `json:"pods"`
	Pod                    *v1.Pod                     `json:"pod"`
	Services               []*v1.Service               `json:"services"`
	ReplicationControllers []*v1.ReplicationController `json:"replicationControllers"`
	ReplicaSets            []*appsv1.ReplicaSet        `json:"replicaSets"`
	StatefulSets           []*appsv1.StatefulSet       `json:"statefulSets"`

	Budgets []*policyv1.PodDisruptionBudget `json:"budgets"`
}

type nodeAnswer struct {
	RejectedBy string           `json:"rejectedBy,omitempty"`
	Scores     map[string]int64 `json:"scores,omitempty"`
	Total      int64            `json:"total"`
}

type victimsAnswer struct {
	Pods       []string `json:"pods"`
	Violations int64    `json:"violations"`
}

type answer struct {
	Nodes     map[string]*nodeAnswer    `json:"nodes"`
	Taken     string                    `json:"taken,omitempty"`
	Victims   map[string]*victimsAnswer `json:"victims,omitempty"`
	Preempted string                    `json:"preempted,omitempty"`
}

// currentSnapshot lets one framework look at the nodes of one case after another.
type currentSnapshot struct {
	*internalcache.Snapshot
}

type oracle struct {
	ctx      context.Context
	nodes    *currentSnapshot
	factory  informers.SharedInformerFactory
	profiles profile.Map
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	metrics.Register()
	o := &oracle{ctx: ctx}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	for decoder.More() {
		var l line
		try(decoder.Decode(&l))
		if l.Configuration != nil {
			try(o.configure(l.Configuration))
			continue
		}
		a, err := o.ask(&l)
		try(err)
		try(encoder.Encode(a))
	}
	try(out.Flush())
}

func try(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "schedulerscores:", err)
		os.Exit(1)
	}
}

// configure builds the profiles as pkg/scheduler/scheduler.go (New) does.
func (o *oracle) configure(text []byte) error {
	decoded, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return err
	}
	configuration := decoded.(*schedulerapi.KubeSchedulerConfiguration)
	client := fake.NewClientset()
	o.factory = informers.NewSharedInformerFactory(client, 0)
	o.nodes = &currentSnapshot{internalcache.NewEmptySnapshot()}
	claims := assumecache.NewAssumeCache(
		klog.Background(), o.factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slices, err := resourceslicetracker.StartTracker(o.ctx, resourceslicetracker.Options{
		SliceInformer: o.factory.Resource().V1().ResourceSlices(),
		KubeClient:    client,
	})
	if err != nil {
		return err
	}
	options := append(ofThisMinor(o.factory, o.nodes),
		frameworkruntime.WithComponentConfigVersion(configuration.APIVersion),
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(o.factory),
		frameworkruntime.WithSharedDRAManager(dynamicresources.NewDRAManager(o.ctx, claims, slices, o.factory)),
		frameworkruntime.WithSnapshotSharedLister(o.nodes),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithPodNominator(noNominations{}),
		frameworkruntime.WithParallelism(1),
	)
	o.profiles, err = profile.NewMap(
		o.ctx, configuration.Profiles, frameworkplugins.NewInTreeRegistry(), noEvents, options...)
	return err
}

// ask runs one scheduling cycle up to the scores, as pkg/scheduler/schedule_one.go (schedulePod) does.
func (o *oracle) ask(l *line) (*answer, error) {
	f, ok := o.profiles[l.Pod.Spec.SchedulerName]
	if !ok {
		return nil, fmt.Errorf("no profile %q", l.Pod.Spec.SchedulerName)
	}
	o.nodes.Snapshot = internalcache.NewSnapshot(l.Pods, l.Nodes)
	// the plugins read the listers, which read these stores; nothing has to be watched
	core, apps := o.factory.Core().V1(), o.factory.Apps().V1()
	if err := replace(core.Services().Informer(), l.Services); err != nil {
		return nil, err
	}
	if err := replace(core.ReplicationControllers().Informer(), l.ReplicationControllers); err != nil {
		return nil, err
	}
	if err := replace(apps.ReplicaSets().Informer(), l.ReplicaSets); err != nil {
		return nil, err
	}
	if err := replace(apps.StatefulSets().Informer(), l.StatefulSets); err != nil {
		return nil, err
	}

	a := &answer{Nodes: map[string]*nodeAnswer{}}
	state := framework.NewCycleState()
	_, status, _ := f.RunPreFilterPlugins(o.ctx, state, l.Pod)
	if !status.IsSuccess() {
		return nil, fmt.Errorf("%s: PreFilter: %s", l.Pod.Name, status.Message())
	}
	var feasible, potential []fwk.NodeInfo
	for _, node := range l.Nodes {
		info, err := o.nodes.NodeInfos().Get(node.Name)
		if err != nil {
			return nil, err
		}
		status := f.RunFilterPlugins(o.ctx, state, l.Pod, info)
		switch {
		case status.IsSuccess():
			feasible = append(feasible, info)
		case status.IsRejected():
			a.Nodes[node.Name] = &nodeAnswer{RejectedBy: status.Plugin()}
			if status.Code() == fwk.Unschedulable {
				potential = append(potential, info)
			}
		default:
			return nil, fmt.Errorf("%s: Filter: %s", l.Pod.Name, status.Message())
		}
	}
	if len(feasible) == 0 {
		if l.Budgets == nil || len(potential) == 0 {
			return a, nil
		}
		return a, o.preempt(f, state, l, potential, a)
	}
	if status := f.RunPreScorePlugins(o.ctx, state, l.Pod, feasible); !status.IsSuccess() {
		return nil, fmt.Errorf("%s: PreScore: %s", l.Pod.Name, status.Message())
	}
	scored, status := f.RunScorePlugins(o.ctx, state, l.Pod, feasible)
	if !status.IsSuccess() {
		return nil, fmt.Errorf("%s: Score: %s", l.Pod.Name, status.Message())
	}
	for _, node := range scored {
		scores := map[string]int64{}
		for _, score := range node.Scores {
			scores[score.Name] = score.Score
		}
		a.Nodes[node.Name] = &nodeAnswer{Scores: scores, Total: node.TotalScore}
	}
	a.Taken = taken(scored)
	return a, nil
}

// preempt looks for victims on all nodes where evictions could help, as DefaultPreemption's PostFilter does.
func (o *oracle) preempt(
	f framework.Framework, state fwk.CycleState, l *line, potential []fwk.NodeInfo, a *answer,
) error {
	args := &schedulerapi.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100}
	features := plfeature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	plugin, err := defaultpreemption.New(o.ctx, args, f, features)
	if err != nil {
		return err
	}
	candidates, _, err := plugin.Evaluator.DryRunPreemption(
		o.ctx, state, l.Pod, potential, l.Budgets, 0, int32(len(potential)))
	if err != nil || len(candidates) == 0 {
		return err
	}
	a.Victims = map[string]*victimsAnswer{}
	for _, candidate := range candidates {
		victims := &victimsAnswer{Violations: candidate.Victims().NumPDBViolations}
		for _, pod := range candidate.Victims().Pods {
			victims.Pods = append(victims.Pods, pod.Name)
		}
		a.Victims[candidate.Name()] = victims
	}
	a.Preempted = plugin.Evaluator.SelectCandidate(o.ctx, candidates).Name()
	return nil
}

func replace[T any](informer cache.SharedIndexInformer, objects []T) error {
	list := make([]any, len(objects))
	for i, object := range objects {
		list[i] = object
	}
	return informer.GetStore().Replace(list, "")
}
