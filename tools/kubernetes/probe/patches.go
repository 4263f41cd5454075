package main

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// Kubernetes sets the limit for all of its process, to the largest body.
func init() { jsonpatch.AccumulatedCopySizeLimit = 3 * 1024 * 1024 }

func strategic(r *request) (any, error) {
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	if err != nil {
		return nil, err
	}
	reference, err := legacyscheme.Scheme.New(gv.WithKind(r.Kind))
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergeMapPatch(r.Live, r.New, reference)
}

func jsonPatch(r *request) (any, error) {
	patch, err := jsonpatch.DecodePatch([]byte(r.B))
	if err != nil {
		return nil, err
	}
	out, err := patch.Apply([]byte(r.A))
	return text(out, err)
}

func mergePatch(r *request) (any, error) {
	out, err := jsonpatch.MergePatch([]byte(r.A), []byte(r.B))
	return text(out, err)
}

// text reads the result, so that both sides compare values.
func text(out []byte, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(out, &value); err != nil {
		return nil, err
	}
	return map[string]any{"document": value}, nil
}
