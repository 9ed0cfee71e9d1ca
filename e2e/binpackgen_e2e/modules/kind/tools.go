//go:build tools

// Package tools names the command that this module pins, so that go.sum holds all it needs.
package tools

import _ "sigs.k8s.io/kind"
