// Command devicepluginconfig says what the NVIDIA device plugin makes of its configuration files.
//
// It reads a JSON array of texts from standard input and writes one JSON object a text, in the same order, to
// standard output: "error" where the plugin would end, else "config", the file as the plugin understood it.
// The plugin drops keys that it does not know, so a key that is missing in "config" was misplaced.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	spec "github.com/NVIDIA/k8s-device-plugin/api/config/v1"
	cli "github.com/urfave/cli/v2"
)

type answer struct {
	Error  string       `json:"error,omitempty"`
	Config *spec.Config `json:"config,omitempty"`
}

func read(text string) answer {
	file, err := os.CreateTemp("", "config-*.yaml")
	if err != nil {
		return answer{Error: err.Error()}
	}
	defer os.Remove(file.Name())
	if _, err := file.WriteString(text); err != nil {
		return answer{Error: err.Error()}
	}
	var result answer
	app := cli.NewApp()
	app.Flags = []cli.Flag{&cli.StringFlag{Name: "config-file"}}
	app.Action = func(context *cli.Context) error {
		config, err := spec.NewConfig(context, app.Flags)
		result.Config = config
		return err
	}
	if err := app.Run([]string{"plugin", "--config-file", file.Name()}); err != nil {
		return answer{Error: err.Error()}
	}
	return result
}

func run() error {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return err
	}
	encoder := json.NewEncoder(os.Stdout)
	for _, text := range texts {
		if err := encoder.Encode(read(text)); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
