// Command kubeletconfiguration says what the kubelet makes of configuration files and node labels.
//
// It reads a JSON object from standard input, "configurations" (texts) and "labels" (keys), and writes one:
// "configurations" has what the kubelet has against each file ("" for nothing), decoded strictly, defaulted and
// validated as the kubelet does; "labels" says for each key whether a kubelet may give it to its own node.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	kubeletapis "k8s.io/kubelet/pkg/apis"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
)

type question struct {
	Configurations []string `json:"configurations"`
	Labels         []string `json:"labels"`
}

type answer struct {
	Configurations []string `json:"configurations"`
	Labels         []bool   `json:"labels"`
}

func read(text string) error {
	_, codecs, err := scheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		return err
	}
	object, _, err := codecs.UniversalDecoder().Decode([]byte(text), nil, nil)
	if err != nil {
		return err
	}
	configuration, ok := object.(*kubeletconfig.KubeletConfiguration)
	if !ok {
		return fmt.Errorf("a %T is no KubeletConfiguration", object)
	}
	// about the machine that asks, not about the file
	configuration.FailCgroupV1 = false
	if err := validation.ValidateKubeletConfiguration(configuration, utilfeature.DefaultFeatureGate); err != nil {
		return err
	}
	_, err = eviction.ParseThresholdConfig(nil, configuration.EvictionHard, nil, nil, nil)
	return err
}

func run() error {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return err
	}
	result := answer{Configurations: []string{}, Labels: []bool{}}
	for _, text := range asked.Configurations {
		problem := ""
		if err := read(text); err != nil {
			problem = err.Error()
		}
		result.Configurations = append(result.Configurations, problem)
	}
	for _, key := range asked.Labels {
		result.Labels = append(result.Labels, kubeletapis.IsKubeletLabel(key))
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
