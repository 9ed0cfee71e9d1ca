package nodeutilizationcap

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// The profile has the plugin where the compiler puts it: at filter alone.
const profileText = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: packer
  plugins: {filter: {enabled: [{name: NodeUtilizationCap}]}}
  pluginConfig: [{name: NodeUtilizationCap, args: {minFree: {cpu: "2", memory: 8Gi}}}]
- schedulerName: uncapped
`

var pods = v1.SchemeGroupVersion.WithResource("pods")

// cluster is a running scheduler on a server that keeps objects and does nothing else.
type cluster struct {
	*testing.T
	context context.Context
	client  *fake.Clientset
}

func start(t *testing.T, nodes ...*v1.Node) cluster {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	client := fake.NewClientset()
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		binding := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		found, err := client.Tracker().Get(pods, binding.Namespace, binding.Name)
		if err != nil {
			return true, nil, err
		}
		bound := found.(*v1.Pod).DeepCopy()
		bound.Spec.NodeName = binding.Target.Name
		return true, binding, client.Tracker().Update(pods, bound, bound.Namespace)
	})
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.DeleteAction).GetName()
		found, err := client.Tracker().Get(pods, "default", name)
		if err != nil || len(found.(*v1.Pod).Finalizers) == 0 {
			return false, nil, nil
		}
		ending := found.(*v1.Pod).DeepCopy()
		now := metav1.Now()
		ending.DeletionTimestamp = &now
		return true, ending, client.Tracker().Update(pods, ending, ending.Namespace)
	})
	var configuration config.KubeSchedulerConfiguration
	if err := runtime.DecodeInto(scheme.Codecs.UniversalDecoder(), []byte(profileText), &configuration); err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	running, err := scheduler.New(ctx, client, factory, nil, profile.NewRecorderFactory(broadcaster),
		scheduler.WithProfiles(configuration.Profiles...),
		scheduler.WithFrameworkOutOfTreeRegistry(frameworkruntime.Registry{Name: New}),
		scheduler.WithPodInitialBackoffSeconds(1), scheduler.WithPodMaxBackoffSeconds(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		node.Status.Allocatable[v1.ResourcePods] = list("pods=110")[v1.ResourcePods]
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := running.WaitForHandlersSync(ctx); err != nil {
		t.Fatal(err)
	}
	go running.Run(ctx)
	return cluster{t, ctx, client}
}

// create makes a pod of the packer, which `change` alters first.
func (c cluster) create(name, requests string, change ...func(*v1.Pod)) {
	c.Helper()
	created := pod(requests)
	created.Name, created.Namespace, created.UID = name, "default", types.UID(name)
	created.Spec.SchedulerName = "packer"
	for _, alter := range change {
		alter(created)
	}
	if _, err := c.client.CoreV1().Pods("default").Create(c.context, created, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
}

// placed waits until the pod is on a node, for at most 20 s: well below the queue's own retry after 5 minutes.
func (c cluster) placed(name string) {
	c.Helper()
	c.until(fmt.Sprintf("%s is on a node", name), func(pod *v1.Pod) bool { return pod.Spec.NodeName != "" }, name)
}

// refused waits until the scheduler has said that the cap keeps the pod from the node.
func (c cluster) refused(name string) {
	c.Helper()
	actual := ""
	c.until(fmt.Sprintf("%s is refused", name), func(pod *v1.Pod) bool {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
				actual = condition.Message
				return true
			}
		}
		return false
	}, name)
	if !strings.HasPrefix(actual, noNode) {
		c.Errorf("want %q and more, got %q", noNode, actual)
	}
}

func (c cluster) until(what string, holds func(*v1.Pod) bool, name string) {
	c.Helper()
	err := wait.PollUntilContextTimeout(c.context, 20*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		found, err := c.client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		return err == nil && holds(found), err
	})
	if err != nil {
		c.Fatalf("%s: %v", what, err)
	}
}

// end takes a pod away, whatever holds it.
func (c cluster) end(name string) {
	c.Helper()
	if err := c.client.Tracker().Delete(pods, "default", name); err != nil {
		c.Fatal(err)
	}
}

func (c cluster) gone(name string) bool {
	_, err := c.client.CoreV1().Pods("default").Get(c.context, name, metav1.GetOptions{})
	return err != nil
}

// noNode is how the message starts; what preemption adds to it differs between versions.
const noNode = "0/1 nodes are available: 1 node(s) would have less than 2 cpu left."

// A pod that the cap refused gets its place as soon as another one leaves.
func TestRetryAfterAPodLeft(t *testing.T) {
	cluster := start(t, node("cpu=8 memory=32Gi"))
	cluster.create("first", "cpu=5")
	cluster.placed("first")
	cluster.create("second", "cpu=2")
	cluster.refused("second")

	cluster.end("first")

	cluster.placed("second")
}

// A pod that the cap refused gets its place as soon as the node grows.
func TestRetryAfterTheNodeGrew(t *testing.T) {
	small := node("cpu=8 memory=32Gi")
	cluster := start(t, small)
	cluster.create("large", "cpu=7")
	cluster.refused("large")

	grown := small.DeepCopy()
	grown.Status.Allocatable[v1.ResourceCPU] = list("cpu=9")[v1.ResourceCPU]
	if _, err := cluster.client.CoreV1().Nodes().Update(cluster.context, grown, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}

	cluster.placed("large")
}

// A more important pod displaces just what the cap needs, and is placed.
func TestPreemption(t *testing.T) {
	cluster := start(t, node("cpu=8 memory=32Gi"))
	cluster.create("cheap", "cpu=3")
	cluster.placed("cheap")
	cluster.create("dear", "cpu=2", func(pod *v1.Pod) { pod.Spec.Priority = ptr(5) })
	cluster.placed("dear")
	cluster.create("urgent", "cpu=2", func(pod *v1.Pod) { pod.Spec.Priority = ptr(10) })

	cluster.placed("urgent")

	if !cluster.gone("cheap") || cluster.gone("dear") {
		t.Errorf("cheap gone: %v, dear gone: %v; want only cheap", cluster.gone("cheap"), cluster.gone("dear"))
	}
}

// A pod that waits for its victim to end counts as if it were there: no other one may take the node below the cap.
func TestNominatedPod(t *testing.T) {
	cluster := start(t, node("cpu=8 memory=32Gi"))
	cluster.create("leaving", "cpu=4", func(pod *v1.Pod) { pod.Finalizers = []string{"example.com/slow"} })
	cluster.placed("leaving")
	cluster.create("urgent", "cpu=3", func(pod *v1.Pod) { pod.Spec.Priority = ptr(10) })
	cluster.refused("urgent")

	cluster.create("small", "cpu=1") // beside leaving alone it would leave 3

	cluster.refused("small")
	cluster.end("leaving")
	cluster.placed("urgent")
	cluster.placed("small")
}

// Control: without the plugin the same pods share the node.
func TestWithoutTheCap(t *testing.T) {
	uncapped := func(pod *v1.Pod) { pod.Spec.SchedulerName = "uncapped" }
	cluster := start(t, node("cpu=8 memory=32Gi"))
	cluster.create("first", "cpu=5", uncapped)
	cluster.placed("first")
	cluster.create("second", "cpu=3", uncapped)

	cluster.placed("second")
}

func ptr(number int32) *int32 { return &number }
