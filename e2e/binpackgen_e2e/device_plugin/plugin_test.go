package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// kubelet takes registrations on a socket, as the kubelet's device manager does.
type kubelet struct {
	pluginapi.UnimplementedRegistrationServer
	server    *grpc.Server
	directory string
	requests  chan *pluginapi.RegisterRequest
}

func (k *kubelet) Register(_ context.Context, request *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	k.requests <- request
	return &pluginapi.Empty{}, nil
}

// startKubelet removes all sockets of the folder first, as a kubelet does.
func startKubelet(t *testing.T, directory string) *kubelet {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		os.Remove(filepath.Join(directory, entry.Name()))
	}
	listener, err := net.Listen("unix", filepath.Join(directory, "kubelet.sock"))
	if err != nil {
		t.Fatal(err)
	}
	started := &kubelet{server: grpc.NewServer(), directory: directory, requests: make(chan *pluginapi.RegisterRequest, 10)}
	pluginapi.RegisterRegistrationServer(started.server, started)
	go started.server.Serve(listener)
	t.Cleanup(started.server.Stop)
	return started
}

// registered is the next registration.
func (k *kubelet) registered(t *testing.T) *pluginapi.RegisterRequest {
	t.Helper()
	select {
	case request := <-k.requests:
		return request
	case <-time.After(10 * time.Second):
		t.Fatal("no registration after 10 s")
		return nil
	}
}

// client calls the plugin at the endpoint that it registered.
func (k *kubelet) client(t *testing.T, endpoint string) pluginapi.DevicePluginClient {
	t.Helper()
	connection, err := grpc.NewClient("unix:"+filepath.Join(k.directory, endpoint), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return pluginapi.NewDevicePluginClient(connection)
}

// startPlugin runs a plugin of two GPUs until stop is called; stop waits for its end.
func startPlugin(t *testing.T, directory string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	started := &plugin{resource: "nvidia.com/gpu", count: 2, directory: directory, poll: 10 * time.Millisecond}
	go func() { started.run(ctx); close(done) }()
	stop = func() {
		cancel()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("it did not end within 10 s")
		}
	}
	t.Cleanup(stop)
	return stop
}

// folder is short, since the path of a socket may have 107 characters at most.
func folder(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("", "dp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	return directory
}

// It registers under its resource, lists its devices, and tells containers which are theirs.
func TestKubeletsCalls(t *testing.T) {
	directory := folder(t)
	kubelet := startKubelet(t, directory)
	startPlugin(t, directory)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	request := kubelet.registered(t)

	if request.Version != "v1beta1" || request.ResourceName != "nvidia.com/gpu" || request.Endpoint != "fake-nvidia.com-gpu.sock" {
		t.Fatalf("registered as %v", request)
	}
	client := kubelet.client(t, request.Endpoint)
	options, err := client.GetDevicePluginOptions(ctx, &pluginapi.Empty{})
	if err != nil || options.PreStartRequired || options.GetPreferredAllocationAvailable {
		t.Errorf("options %v, %v", options, err)
	}
	stream, err := client.ListAndWatch(ctx, &pluginapi.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	listed, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	devices := map[string]string{}
	for _, device := range listed.Devices {
		devices[device.ID] = device.Health
	}
	if expected := map[string]string{"gpu-0": "Healthy", "gpu-1": "Healthy"}; !reflect.DeepEqual(expected, devices) {
		t.Errorf("want %v, got %v", expected, devices)
	}
	allocated, err := client.Allocate(ctx, &pluginapi.AllocateRequest{ContainerRequests: []*pluginapi.ContainerAllocateRequest{
		{DevicesIds: []string{"gpu-0", "gpu-1"}}, {DevicesIds: []string{"gpu-1"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	variables := []map[string]string{}
	for _, response := range allocated.ContainerResponses {
		variables = append(variables, response.Envs)
	}
	expected := []map[string]string{{"NVIDIA_VISIBLE_DEVICES": "gpu-0,gpu-1"}, {"NVIDIA_VISIBLE_DEVICES": "gpu-1"}}
	if !reflect.DeepEqual(expected, variables) {
		t.Errorf("want %v, got %v", expected, variables)
	}
}

// A kubelet that starts anew hears of the devices again, and can list them.
func TestKubeletStartsAnew(t *testing.T) {
	directory := folder(t)
	before := startKubelet(t, directory)
	startPlugin(t, directory)
	before.registered(t)
	before.server.Stop()

	after := startKubelet(t, directory)

	request := after.registered(t)
	stream, err := after.client(t, request.Endpoint).ListAndWatch(context.Background(), &pluginapi.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if listed, err := stream.Recv(); err != nil || len(listed.Devices) != 2 {
		t.Errorf("listed %v, %v", listed, err)
	}
}

// It waits for a kubelet that is not there yet.
func TestKubeletStartsLater(t *testing.T) {
	directory := folder(t)
	startPlugin(t, directory)
	time.Sleep(50 * time.Millisecond)

	startKubelet(t, directory).registered(t)
}

// At its end no socket of its own is left, also while a kubelet watches.
func TestCleanEnd(t *testing.T) {
	directory := folder(t)
	kubelet := startKubelet(t, directory)
	stop := startPlugin(t, directory)
	client := kubelet.client(t, kubelet.registered(t).Endpoint)
	stream, err := client.ListAndWatch(context.Background(), &pluginapi.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}

	stop()

	if _, err := os.Stat(filepath.Join(directory, "fake-nvidia.com-gpu.sock")); !os.IsNotExist(err) {
		t.Errorf("its socket is left: %v", err)
	}
	if listed, err := stream.Recv(); err == nil {
		t.Errorf("the watch goes on: %v", listed)
	}
}

// Control: a kubelet that stays gets one registration only.
func TestOneRegistration(t *testing.T) {
	directory := folder(t)
	kubelet := startKubelet(t, directory)
	startPlugin(t, directory)
	kubelet.registered(t)

	time.Sleep(200 * time.Millisecond)

	if len(kubelet.requests) != 0 {
		t.Errorf("registered again: %v", <-kubelet.requests)
	}
}
