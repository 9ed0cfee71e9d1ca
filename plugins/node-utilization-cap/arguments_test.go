package nodeutilizationcap

import (
	"context"
	"reflect"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// profileHandle is a handle that knows nothing but its profile's name.
type profileHandle struct {
	fwk.Handle
	name string
}

func (h profileHandle) ProfileName() string { return h.name }

func raw(text string) runtime.Object { return &runtime.Unknown{Raw: []byte(text)} }

// newCap is the plugin with arguments as JSON.
func newCap(t testing.TB, arguments string) *Cap {
	t.Helper()
	plugin, err := New(context.Background(), raw(arguments), profileHandle{name: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	return plugin.(*Cap)
}

// The arguments as the compiler emits them, and with every field.
func TestArguments(t *testing.T) {
	for text, expected := range map[string]Arguments{
		`{"minFree": {"cpu": "2", "memory": "8Gi"}, "exemptWholeNode": true}`: {
			MinFree:         v1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("8Gi")},
			ExemptWholeNode: true,
		},
		`{"minFree": {"nvidia.com/gpu": 1, "ephemeral-storage": "5G"}, "exemptWholeNode": true, "devices": ["nvidia.com/gpu"]}`: {
			MinFree:         v1.ResourceList{"nvidia.com/gpu": resource.MustParse("1"), "ephemeral-storage": resource.MustParse("5G")},
			ExemptWholeNode: true,
			Devices:         []v1.ResourceName{"nvidia.com/gpu"},
		},
		`{"minFree": {"hugepages-2Mi": "1Gi"}}`: {MinFree: v1.ResourceList{"hugepages-2Mi": resource.MustParse("1Gi")}},
	} {
		actual, err := decode(raw(text))
		if err != nil || !reflect.DeepEqual(expected, *actual) {
			t.Errorf("%s: want %+v, got %+v, %v", text, expected, actual, err)
		}
	}
}

// Every mistake is named, and the scheduler does not start with it.
func TestWrongArguments(t *testing.T) {
	for text, expected := range map[string]string{
		``:                        "minFree: names no resource",
		`{}`:                      "minFree: names no resource",
		`{"minFree": {}}`:         "minFree: names no resource",
		`{"minFree": null}`:       "minFree: names no resource",
		`[]`:                      "cannot unmarshal array",
		`{"minFree": "2"}`:        "cannot unmarshal string",
		`{"minfree": {"cpu": 2}}`: `unknown field "minfree"`,
		`{"minFree": {"cpu": 2}, "headroom": {}}`:                              `unknown field "headroom"`,
		`{"minFree": {"cpu": 2, "cpu": 3}}`:                                    `duplicate field "minFree.cpu"`,
		`{"minFree": {"cpu": "two"}}`:                                          "quantities must match",
		`{"minFree": {"cpu": "-2"}}`:                                           "minFree.cpu: -2 is not above 0",
		`{"minFree": {"cpu": 2, "memory": 0}}`:                                 "minFree.memory: 0 is not above 0",
		`{"minFree": {"cpu": null}}`:                                           "minFree.cpu: 0 is not above 0",
		`{"minFree": {"cpu": "10P"}}`:                                          "minFree.cpu: 10P is more than the scheduler can count",
		`{"minFree": {"gpu": 1}}`:                                              "minFree.gpu: the scheduler keeps no count",
		`{"minFree": {"pods": 1}}`:                                             "minFree.pods: the scheduler keeps no count",
		`{"minFree": {"cpu": 2}, "exemptWholeNode": "yes"}`:                    "cannot unmarshal string",
		`{"minFree": {"cpu": 2}, "devices": ["nvidia.com/gpu"]}`:               "devices: means nothing without exemptWholeNode: true",
		`{"minFree": {"cpu": 2}, "exemptWholeNode": true, "devices": ["cpu"]}`: `devices[0]: "cpu" is not the name of an extended resource`,
		`{"minFree": {"cpu": 2}, "exemptWholeNode": true, "devices": ["example.com/a", "example.com/a"]}`: "devices[1]: example.com/a stands there twice",
		`{"minFree": {"cpu": -1, "memory": -1}}`:                                                          "minFree.cpu: -1 is not above 0\nminFree.memory: -1 is not above 0",
	} {
		_, err := New(context.Background(), raw(text), profileHandle{})
		if err == nil || !strings.Contains(err.Error(), expected) || !strings.HasPrefix(err.Error(), "arguments of NodeUtilizationCap: ") {
			t.Errorf("%s: want %q, got %v", text, expected, err)
		}
	}
	if _, err := New(context.Background(), nil, profileHandle{}); err == nil {
		t.Error("a profile without arguments was taken")
	}
	if _, err := New(context.Background(), &v1.Pod{}, profileHandle{}); err == nil {
		t.Error("arguments of another type were taken")
	}
}
