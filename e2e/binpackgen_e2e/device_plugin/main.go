// Command device-plugin offers devices that do not exist, so that a kubelet admits pods which ask for them.
//
// It speaks the device-plugin API v1beta1 as a vendor's plugin does: it registers, is listed and watched, is
// asked to allocate, and registers again when the kubelet starts anew.
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"syscall"
	"time"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func main() {
	var plugin plugin
	flag.StringVar(&plugin.resource, "resource", "nvidia.com/gpu", "extended resource to offer")
	flag.IntVar(&plugin.count, "count", 1, "how many devices")
	flag.StringVar(&plugin.directory, "directory", pluginapi.DevicePluginPath, "folder of the kubelet's socket")
	flag.DurationVar(&plugin.poll, "poll", time.Second, "time between two looks at the sockets")
	flag.Parse()
	if flag.NArg() > 0 || plugin.count < 1 || plugin.poll <= 0 {
		log.Fatal("want --resource=NAME --count=NUMBER, a number above 0, and no other argument")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	plugin.run(ctx)
}
