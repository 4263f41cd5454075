//go:build tools

// Package tools pins crane, the registry client that ours is measured against.
package tools

import _ "github.com/google/go-containerregistry/cmd/crane"
