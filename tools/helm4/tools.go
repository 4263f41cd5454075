//go:build tools

// Package tools pins the helm 4 command that the rig builds and compares with.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
