//go:build tools

// Package tools pins an original operator.
package tools

import _ "github.com/operator-framework/helm-operator-plugins"
