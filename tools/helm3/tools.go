//go:build tools

// Package tools pins the helm 3 command that the rig builds and compares with.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
