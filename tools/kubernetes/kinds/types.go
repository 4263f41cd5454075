package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	aggregatoropenapi "k8s.io/kube-aggregator/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// Types that write and read themselves: the table has a word for each.
var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():                                  "time",
	reflect.TypeFor[metav1.MicroTime]():                             "microtime",
	reflect.TypeFor[metav1.Duration]():                              "duration",
	reflect.TypeFor[resource.Quantity]():                            "quantity",
	reflect.TypeFor[intstr.IntOrString]():                           "intorstring",
	reflect.TypeFor[runtime.RawExtension]():                         "raw",
	reflect.TypeFor[metav1.FieldsV1]():                              "fields",
	reflect.TypeFor[apiextensionsv1.JSON]():                         "json",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "schemaorbool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "schemaorarray",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "schemaorstrings",
	reflect.TypeFor[[]byte]():                                       "bytes",
}

var prefixes = []string{
	"k8s.io/api/",
	"k8s.io/apimachinery/pkg/apis/",
	"k8s.io/apimachinery/pkg/",
	"k8s.io/apiextensions-apiserver/pkg/apis/",
	"k8s.io/kube-aggregator/pkg/apis/",
}

// name is a type's name in the table: its package without what all packages begin with, and its own.
func name(t reflect.Type) string {
	for _, prefix := range prefixes {
		if rest, ok := strings.CutPrefix(t.PkgPath(), prefix); ok {
			return rest + "." + t.Name()
		}
	}
	fail("a type of a package unheard of: %v in %s", t, t.PkgPath())
	return ""
}

type collector struct {
	seen        map[reflect.Type]bool
	queue       []reflect.Type
	definitions map[string]common.OpenAPIDefinition
}

func definitions() map[string]common.OpenAPIDefinition {
	all := map[string]common.OpenAPIDefinition{}
	reference := func(path string) spec.Ref { return spec.MustCreateRef(path) }
	for _, get := range []common.GetOpenAPIDefinitions{
		openapi.GetOpenAPIDefinitions, apiextensionsopenapi.GetOpenAPIDefinitions, aggregatoropenapi.GetOpenAPIDefinitions,
	} {
		for name, definition := range get(reference) {
			all[name] = definition
		}
	}
	return all
}

// expression writes a type; a dot before a name stands for the package at hand.
func (c *collector) expression(t reflect.Type, here string) string {
	if word, ok := special[t]; ok {
		return word
	}
	if t.Kind() == reflect.Pointer {
		return "*" + c.expression(t.Elem(), here)
	}
	if t.PkgPath() != "" {
		if !c.seen[t] {
			c.seen[t] = true
			c.queue = append(c.queue, t)
		}
		return strings.TrimPrefix(name(t), here)
	}
	return c.bare(t, here)
}

func (c *collector) bare(t reflect.Type, here string) string {
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + c.expression(t.Elem(), here)
	case reflect.Map:
		return "{}" + c.expression(t.Elem(), here)
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
		return t.Kind().String()
	}
	fail("a type that the table has no word for: %v", t)
	return ""
}

func (c *collector) describe(t reflect.Type) {
	here := strings.TrimSuffix(name(t), "."+t.Name())
	if t.Kind() != reflect.Struct {
		line := "named " + name(t) + " " + c.bare(t, here)
		if t.Kind() == reflect.Map {
			if key := t.Key(); key.PkgPath() != "" {
				line += " " + name(key)
			}
		}
		if _, ok := reflect.PointerTo(t).MethodByName("Marshal"); ok {
			line += " items"
		}
		fmt.Fprintln(out, line)
		return
	}
	definition := c.definitions[openAPIName(t)].Schema
	line := "type " + name(t)
	if mapType, _ := definition.Extensions["x-kubernetes-map-type"].(string); mapType == "atomic" {
		line += " atomic"
	}
	fmt.Fprintln(out, line)
	required := map[string]bool{}
	for _, one := range definition.Required {
		required[one] = true
	}
	for i := range t.NumField() {
		c.field(t.Field(i), here, definition.Properties, required)
	}
}

func openAPIName(t reflect.Type) string {
	if namer, ok := reflect.New(t).Interface().(interface{ OpenAPIModelName() string }); ok {
		return namer.OpenAPIModelName()
	}
	return t.PkgPath() + "." + t.Name()
}

func (c *collector) field(f reflect.StructField, here string, properties map[string]spec.Schema, required map[string]bool) {
	parts := strings.Split(f.Tag.Get("json"), ",")
	if parts[0] == "-" || !f.IsExported() {
		return
	}
	key, flags := parts[0], ""
	for _, option := range parts[1:] {
		switch option {
		case "omitempty":
			flags += "e"
		case "omitzero":
			flags += "z"
		case "inline":
			flags += "i"
		default:
			fail("%s: an option of JSON unheard of: %s", f.Name, option)
		}
	}
	if key == "" {
		if !f.Anonymous {
			fail("%s has no name in JSON", f.Name)
		}
		key = "-"
		if !strings.Contains(flags, "i") {
			flags += "i"
		}
	}
	if required[key] {
		flags += "r"
	}
	if flags == "" {
		flags = "-"
	}
	number := "0"
	if tag := f.Tag.Get("protobuf"); tag != "" && tag != "-" {
		number = strings.Split(tag, ",")[1]
	}
	line := fmt.Sprintf(" %s %s %s %s", key, number, flags, c.expression(f.Type, here))
	if t := f.Type; t.Kind() == reflect.Map && t.PkgPath() == "" && t.Key().PkgPath() != "" {
		line += " K:" + name(t.Key())
	}
	fmt.Fprintln(out, line+extras(f, properties[key]))
}

func extras(f reflect.StructField, property spec.Schema) string {
	text := ""
	extension := func(key string) string {
		value, _ := property.Extensions["x-kubernetes-"+key].(string)
		return value
	}
	switch extension("list-type") {
	case "map":
		keys := []string{}
		for _, key := range property.Extensions["x-kubernetes-list-map-keys"].([]any) {
			keys = append(keys, key.(string))
		}
		text += " k:" + strings.Join(keys, ",")
	case "set":
		text += " s"
	case "atomic":
		text += " a"
	}
	if extension("map-type") == "atomic" {
		text += " A"
	}
	for _, strategy := range strings.Split(f.Tag.Get("patchStrategy"), ",") {
		switch strategy {
		case "merge":
			text += " m:" + f.Tag.Get("patchMergeKey")
		case "retainKeys":
			text += " R"
		case "replace":
			text += " P"
		}
	}
	if property.Default != nil {
		value, _ := json.Marshal(property.Default)
		text += " =" + string(value)
	}
	return text
}

func types(kinds []schema.GroupVersionKind) {
	c := collector{seen: map[reflect.Type]bool{}, definitions: definitions()}
	known := legacyscheme.Scheme.AllKnownTypes()
	for _, kind := range kinds {
		t, ok := known[kind]
		if !ok {
			fail("no such kind: %v", kind)
		}
		fmt.Fprintf(out, "kind %s %s %s\n", kind.GroupVersion(), kind.Kind, c.expression(t, ""))
		if printed(kind) {
			columns(kind)
		}
	}
	c.expression(reflect.TypeFor[apiextensionsv1.JSONSchemaProps](), "")
	done := []reflect.Type{}
	// Described once to find them all, then again in order.
	quiet := out
	out = discard()
	for len(c.queue) > 0 {
		t := c.queue[0]
		c.queue = c.queue[1:]
		done = append(done, t)
		c.describe(t)
	}
	out = quiet
	sort.Slice(done, func(i, j int) bool { return name(done[i]) < name(done[j]) })
	for _, t := range done {
		c.describe(t)
	}
}
