package nodeutilizationcap

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

type counter = metrics.CounterMetric

var (
	registerOnce    sync.Once
	rejectionsTotal = metrics.NewCounterVec(
		&metrics.CounterOpts{
			Subsystem:      "scheduler",
			Name:           "node_utilization_cap_rejections_total",
			Help:           "Nodes refused to a pod by NodeUtilizationCap, by the resource that would be short; runs of preemption count too.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"resource", "profile"})
)

// rejections is the counter of one resource in one profile, on the scheduler's own /metrics.
func rejections(name v1.ResourceName, profile string) counter {
	registerOnce.Do(func() { legacyregistry.MustRegister(rejectionsTotal) })
	return rejectionsTotal.WithLabelValues(string(name), profile)
}
