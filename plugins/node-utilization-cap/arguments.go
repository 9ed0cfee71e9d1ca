package nodeutilizationcap

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
	"sigs.k8s.io/json"
)

// Arguments are the args of the plugin's entry in pluginConfig.
type Arguments struct {
	// MinFree is what stays free on every node: resource to quantity.
	MinFree v1.ResourceList `json:"minFree"`
	// ExemptWholeNode lets pods that take all devices of a node use the headroom.
	ExemptWholeNode bool `json:"exemptWholeNode,omitempty"`
	// Devices are the extended resources that count as a node's devices; empty stands for all of them.
	Devices []v1.ResourceName `json:"devices,omitempty"`
}

// decode reads and checks the arguments of a profile. Unknown and repeated fields are errors.
func decode(configuration runtime.Object) (*Arguments, error) {
	arguments := &Arguments{}
	if configuration != nil {
		unknown, ok := configuration.(*runtime.Unknown)
		if !ok {
			return nil, fmt.Errorf("want arguments of type runtime.Unknown, got %T", configuration)
		}
		if len(unknown.Raw) > 0 {
			strict, err := json.UnmarshalStrict(unknown.Raw, arguments)
			if err = errors.Join(append(strict, err)...); err != nil {
				return nil, err
			}
		}
	}
	return arguments, arguments.validate()
}

func (a *Arguments) validate() error {
	var found []error
	if len(a.MinFree) == 0 {
		found = append(found, errors.New("minFree: names no resource; state what stays free, as {cpu: 2, memory: 8Gi}"))
	}
	for _, name := range slices.Sorted(maps.Keys(a.MinFree)) {
		quantity := a.MinFree[name]
		switch {
		case !counted(name):
			found = append(found, fmt.Errorf("minFree.%s: the scheduler keeps no count of this resource on nodes", name))
		case quantity.Sign() <= 0:
			found = append(found, fmt.Errorf("minFree.%s: %s is not above 0", name, quantity.String()))
		case quantity.Cmp(largest(name)) > 0:
			found = append(found, fmt.Errorf("minFree.%s: %s is more than the scheduler can count", name, quantity.String()))
		}
	}
	if len(a.Devices) > 0 && !a.ExemptWholeNode {
		found = append(found, errors.New("devices: means nothing without exemptWholeNode: true"))
	}
	for index, name := range a.Devices {
		switch {
		case !v1helper.IsExtendedResourceName(name):
			found = append(found, fmt.Errorf("devices[%d]: %q is not the name of an extended resource", index, name))
		case slices.Contains(a.Devices[:index], name):
			found = append(found, fmt.Errorf("devices[%d]: %s stands there twice", index, name))
		}
	}
	return errors.Join(found...)
}

// counted says whether a node's allocatable of the resource, and its pods' requests, reach plugins at all.
func counted(name v1.ResourceName) bool {
	switch name {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return true
	}
	return schedutil.IsScalarResourceName(name)
}

// largest is the largest quantity that the scheduler's int64 can hold, which counts cpu in thousandths.
func largest(name v1.ResourceName) resource.Quantity {
	if name == v1.ResourceCPU {
		return *resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI)
	}
	return *resource.NewQuantity(math.MaxInt64, resource.DecimalSI)
}
