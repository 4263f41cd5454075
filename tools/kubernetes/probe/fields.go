package main

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crds "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane"
	generated "k8s.io/kubernetes/pkg/generated/openapi"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// types is how the objects of some kinds are read: their schemas and, for custom resources, their versions.
type types struct {
	schemas   map[string]*spec.Schema
	converter managedfields.TypeConverter
	versions  map[string]bool
	custom    bool
}

var known = map[string]*types{}

func builtin() (map[string]*spec.Schema, error) {
	namer := openapi.NewDefinitionNamer(legacyscheme.Scheme)
	config := &common.OpenAPIV3Config{
		Info:              &spec.Info{},
		GetDefinitions:    generated.GetOpenAPIDefinitions,
		GetDefinitionName: namer.GetDefinitionName,
	}
	all := generated.GetOpenAPIDefinitions(func(string) spec.Ref { return spec.Ref{} })
	var names []string
	for gvk := range legacyscheme.Scheme.AllKnownTypes() {
		object, err := legacyscheme.Scheme.New(gvk)
		if err != nil {
			return nil, err
		}
		name := util.GetCanonicalTypeName(object)
		if _, defined := all[name]; defined {
			names = append(names, name)
		}
	}
	return builder3.BuildOpenAPIDefinitionsForResources(config, names...)
}

func lookup(name string) (*types, error) {
	if found, ok := known[name]; ok {
		return found, nil
	}
	if name != "" {
		return nil, errors.New("probe: undefined types " + name)
	}
	all, err := builtin()
	if err != nil {
		return nil, err
	}
	converter, err := managedfields.NewTypeConverter(all, false)
	if err != nil {
		return nil, err
	}
	known[""] = &types{schemas: all, converter: converter}
	return known[""], nil
}

func schemas(*request) (any, error) {
	found, err := lookup("")
	if err != nil {
		return nil, err
	}
	return found.schemas, nil
}

func define(r *request) (any, error) {
	base, err := lookup("")
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r.CRD)
	if err != nil {
		return nil, err
	}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := json.Unmarshal(text, crd); err != nil {
		return nil, err
	}
	parts := []*spec3.OpenAPI{{Version: "3.0.0", Info: &spec.Info{}, Components: &spec3.Components{Schemas: base.schemas}}}
	versions := map[string]bool{}
	for _, version := range crd.Spec.Versions {
		part, err := crds.BuildOpenAPIV3(crd, version.Name, crds.Options{})
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		versions[crd.Spec.Group+"/"+version.Name] = true
	}
	merged, err := crds.MergeSpecsV3(parts...)
	if err != nil {
		return nil, err
	}
	converter, err := managedfields.NewTypeConverter(merged.Components.Schemas, false)
	if err != nil {
		return nil, err
	}
	known[r.Types] = &types{schemas: merged.Components.Schemas, converter: converter, versions: versions, custom: true}
	return true, nil
}

// convertor knows no conversion but the new apiVersion, as a definition without a webhook.
type convertor struct {
	versions map[string]bool
	home     string
}

func (c convertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	object := in.(*unstructured.Unstructured)
	gvk, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{object.GroupVersionKind()})
	if !ok {
		gvk = target.(schema.GroupVersion).WithKind(object.GetKind())
	}
	version := gvk.GroupVersion().String()
	if version != c.home && !c.versions[version] {
		return nil, runtime.NewNotRegisteredErrForKind("probe", gvk)
	}
	if object.GetAPIVersion() == version {
		return object, nil
	}
	object = object.DeepCopy()
	object.SetAPIVersion(version)
	return object, nil
}
func (convertor) Convert(in, out, context any) error { return errors.New("probe: not asked") }
func (convertor) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", errors.New("probe: not asked")
}
func (convertor) Default(runtime.Object) {}
func (convertor) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object, nil
}

func manager(r *request) (*managedfields.FieldManager, error) {
	found, err := lookup(r.Types)
	if err != nil {
		return nil, err
	}
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	if err != nil {
		return nil, err
	}
	c := convertor{versions: found.versions, home: r.APIVersion}
	filters := map[fieldpath.APIVersion]fieldpath.Filter{}
	if r.Reset != nil {
		set := fieldpath.NewSet()
		for _, path := range r.Reset {
			set.Insert(fieldpath.MakePathOrDie(parts(path)...))
		}
		filters[fieldpath.APIVersion(r.APIVersion)] = fieldpath.NewExcludeSetFilter(set)
	} else if r.Only != nil {
		var patterns []*fieldpath.SetMatcher
		for _, path := range r.Only {
			patterns = append(patterns, fieldpath.MakePrefixMatcherOrDie(parts(path)...))
		}
		filters[fieldpath.APIVersion(r.APIVersion)] = fieldpath.NewIncludeMatcherFilter(patterns...)
	}
	build := managedfields.NewDefaultFieldManager
	if found.custom {
		build = managedfields.NewDefaultCRDFieldManager
	}
	return build(found.converter, c, c, c, gv.WithKind(r.Kind), gv, r.Subresource, filters)
}

func parts(path []string) []any {
	var out []any
	for _, part := range path {
		if part == "*" {
			out = append(out, fieldpath.MatchAnyPathElement())
		} else {
			out = append(out, part)
		}
	}
	return out
}

func apply(r *request) (any, error) {
	m, err := manager(r)
	if err != nil {
		return nil, err
	}
	live := live(r)
	object, err := m.Apply(live, &unstructured.Unstructured{Object: r.Config}, r.Manager, r.Force)
	if err != nil {
		return nil, status(err)
	}
	return written(object)
}

func update(r *request) (any, error) {
	m, err := manager(r)
	if err != nil {
		return nil, err
	}
	object, err := m.Update(live(r), &unstructured.Unstructured{Object: r.New}, r.Manager)
	if err != nil {
		return nil, status(err)
	}
	return written(object)
}

func live(r *request) *unstructured.Unstructured {
	if r.Live == nil {
		r.Live = map[string]any{"apiVersion": r.APIVersion, "kind": r.Kind}
	}
	return &unstructured.Unstructured{Object: r.Live}
}

// written tells the object and, as bytes, what each manager owns. The present is written as `now`.
func written(object runtime.Object) (any, error) {
	u := object.(*unstructured.Unstructured)
	var entries []any
	for _, entry := range u.GetManagedFields() {
		at := ""
		if entry.Time != nil {
			at = entry.Time.UTC().Format(time.RFC3339)
			if time.Since(entry.Time.Time) < time.Hour {
				at = "now"
			}
		}
		// The bytes went through a map: read them into a set and write them again, as the server does.
		set := fieldpath.NewSet()
		if err := set.FromJSON(strings.NewReader(string(entry.FieldsV1.GetRawBytes()))); err != nil {
			return nil, err
		}
		fields, err := set.ToJSON()
		if err != nil {
			return nil, err
		}
		entries = append(entries, []any{entry.Manager, string(entry.Operation), entry.APIVersion, at, entry.Subresource, string(fields)})
	}
	u.SetManagedFields(nil)
	return map[string]any{"object": u.Object, "managers": entries}, nil
}

// status writes a Status as one text whose parts have an order.
func status(err error) error {
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return err
	}
	full := s.Status()
	lines := []string{}
	if full.Details != nil {
		for _, cause := range full.Details.Causes {
			lines = append(lines, fmt.Sprintf("%s|%s|%s", cause.Type, cause.Message, cause.Field))
		}
	}
	sort.Strings(lines)
	return fmt.Errorf("%d %s\n%s\n%s", full.Code, full.Reason, full.Message, strings.Join(lines, "\n"))
}

func sets(r *request) (any, error) {
	a, b := fieldpath.NewSet(), fieldpath.NewSet()
	if err := a.FromJSON(strings.NewReader(r.A)); err != nil {
		return nil, errors.New("bad")
	}
	if err := b.FromJSON(strings.NewReader(r.B)); err != nil {
		return nil, errors.New("bad")
	}
	paths := ""
	a.Iterate(func(p fieldpath.Path) { paths += p.String() + "\n" })
	out := map[string]string{"paths": paths}
	for name, set := range map[string]*fieldpath.Set{
		"same": a, "union": a.Union(b), "difference": a.Difference(b), "recursive": a.RecursiveDifference(b),
		"intersection": a.Intersection(b), "leaves": a.Leaves(),
	} {
		text, err := set.ToJSON()
		if err != nil {
			return nil, err
		}
		out[name] = string(text)
	}
	return out, nil
}

// items tells the fields of an object, what it is with and without those of a set, and what another changes.
func items(r *request) (any, error) {
	found, err := lookup(r.Types)
	if err != nil {
		return nil, err
	}
	live, err := found.converter.ObjectToTyped(&unstructured.Unstructured{Object: r.Live}, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	other, err := found.converter.ObjectToTyped(&unstructured.Unstructured{Object: r.New}, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	set := fieldpath.NewSet()
	if err := set.FromJSON(strings.NewReader(r.B)); err != nil {
		return nil, err
	}
	fields, err := live.ToFieldSet()
	if err != nil {
		return nil, err
	}
	compared, err := live.Compare(other)
	if err != nil {
		return nil, err
	}
	out := map[string]any{
		"extract": live.ExtractItems(set.Leaves()).AsValue().Unstructured(),
		"remove":  live.RemoveItems(set).AsValue().Unstructured(),
	}
	for name, set := range map[string]*fieldpath.Set{
		"fields": fields, "named": set.EnsureNamedFieldsAreMembers(live.Schema(), live.TypeRef()),
		"added": compared.Added, "removed": compared.Removed, "modified": compared.Modified,
	} {
		text, err := set.ToJSON()
		if err != nil {
			return nil, err
		}
		out[name] = string(text)
	}
	return out, nil
}

// scale takes the managed fields of an object (Live) to those of its Scale and, with those of another (New), back.
func scale(r *request) (any, error) {
	live, other := &unstructured.Unstructured{Object: r.Live}, &unstructured.Unstructured{Object: r.New}
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	if err != nil {
		return nil, err
	}
	paths := managedfields.ResourcePathMappings{
		"apps/v1": fieldpath.MakePathOrDie("spec", "replicas"), "apps/v2": nil,
	}
	handler := managedfields.NewScaleHandler(live.GetManagedFields(), gv, paths)
	there, err := handler.ToSubresource()
	if err != nil {
		return nil, err
	}
	back, err := handler.ToParent(other.GetManagedFields())
	if err != nil {
		return nil, err
	}
	return []any{there, back}, nil
}

func sorted(set map[string]bool) []string {
	var out []string
	for text := range set {
		out = append(out, text)
	}
	sort.Strings(out)
	return out
}
