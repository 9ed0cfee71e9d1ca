package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// visibleDevices is the variable by which a container learns which devices are its own, as with NVIDIA's plugin.
const visibleDevices = "NVIDIA_VISIBLE_DEVICES"

// registrationTimeout bounds the wait for a kubelet whose socket is there but silent.
const registrationTimeout = 10 * time.Second

// plugin offers `count` devices of `resource` to the kubelet whose socket lies in `directory`.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	resource  string
	count     int
	directory string
	poll      time.Duration
}

// run serves until ctx ends. A kubelet that starts anew makes a new socket and removes those of all plugins.
func (p *plugin) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := p.session(ctx); err != nil {
			log.Print(err)
		}
		p.sleep(ctx)
	}
}

// session serves and registers once, and ends when ctx does or the kubelet is another one.
func (p *plugin) session(ctx context.Context) error {
	kubelet, err := os.Stat(p.kubelet())
	if err != nil {
		return fmt.Errorf("no kubelet yet: %w", err)
	}
	if err := os.Remove(p.socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", p.socket())
	if err != nil {
		return err
	}
	own, err := os.Stat(p.socket())
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(server, p)
	go server.Serve(listener) // ends with Stop, which also removes the socket
	defer server.Stop()
	if err := p.register(ctx); err != nil {
		return err
	}
	log.Printf("registered %d devices of %s", p.count, p.resource)
	for same(p.kubelet(), kubelet) && same(p.socket(), own) {
		p.sleep(ctx)
		if ctx.Err() != nil {
			return nil
		}
	}
	return errors.New("the kubelet started anew")
}

func (p *plugin) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, registrationTimeout)
	defer cancel()
	connection, err := grpc.NewClient("unix:"+p.kubelet(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = pluginapi.NewRegistrationClient(connection).Register(ctx, &pluginapi.RegisterRequest{
		Version:      pluginapi.Version,
		Endpoint:     filepath.Base(p.socket()),
		ResourceName: p.resource,
		Options:      &pluginapi.DevicePluginOptions{},
	}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("registering %s: %w", p.resource, err)
	}
	return nil
}

// GetDevicePluginOptions wants neither a call before a container starts nor one about preferences.
func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

// ListAndWatch tells the devices, all sound, and then nothing new.
func (p *plugin) ListAndWatch(_ *pluginapi.Empty, stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	response := &pluginapi.ListAndWatchResponse{}
	for number := range p.count {
		response.Devices = append(response.Devices, &pluginapi.Device{ID: p.id(number), Health: pluginapi.Healthy})
	}
	if err := stream.Send(response); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// Allocate gives each container the names of its devices.
func (p *plugin) Allocate(_ context.Context, request *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	response := &pluginapi.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &pluginapi.ContainerAllocateResponse{
			Envs: map[string]string{visibleDevices: strings.Join(container.DevicesIds, ",")},
		})
	}
	return response, nil
}

func (p *plugin) id(number int) string {
	return fmt.Sprintf("%s-%d", p.resource[strings.LastIndex(p.resource, "/")+1:], number)
}

func (p *plugin) kubelet() string {
	return filepath.Join(p.directory, filepath.Base(pluginapi.KubeletSocket))
}

func (p *plugin) socket() string {
	return filepath.Join(p.directory, "fake-"+strings.ReplaceAll(p.resource, "/", "-")+".sock")
}

func (p *plugin) sleep(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(p.poll):
	}
}

// same says whether a file is still the one it was; an inode's number alone may be used again.
func same(path string, before fs.FileInfo) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(before, now) && before.ModTime().Equal(now.ModTime())
}
