//go:build tools

// Package tools pins opm 1.51.0.
package tools

import _ "github.com/operator-framework/operator-registry/cmd/opm"
