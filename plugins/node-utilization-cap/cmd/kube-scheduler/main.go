// Command kube-scheduler is upstream's scheduler with one plugin more, NodeUtilizationCap.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json, as in upstream's main
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	nodeutilizationcap "binpackgen.dev/node-utilization-cap"
)

func main() {
	command := app.NewSchedulerCommand(app.WithPlugin(nodeutilizationcap.Name, nodeutilizationcap.New))
	os.Exit(cli.Run(command))
}
