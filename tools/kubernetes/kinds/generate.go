package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
)

// generator writes random JSON for a type; how odd it is depends on wild.
type generator struct {
	random      *rand.Rand
	definitions map[string]common.OpenAPIDefinition
	wild        bool
	// The moment that stands for none is not written: the original itself does not read it as it writes it.
	timely bool
	budget int
}

func (g *generator) one(of ...string) string { return of[g.random.Intn(len(of))] }

func (g *generator) chance(percent int) bool { return g.random.Intn(100) < percent }

func quoted(text string) string {
	bytes, _ := json.Marshal(text)
	return string(bytes)
}

// oddKeys are those that the server itself looks at.
var oddKeys = []string{
	"hugepages-2Mi",
	"pod.beta.kubernetes.io/init-containers",
	"deprecated.daemonset.template.generation",
	"deprecated.deployment.rollback.to",
	"autoscaling.alpha.kubernetes.io/scale-up-tolerance",
	"pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match",
	"kubernetes.io/metadata.name",
}

func (g *generator) word() string {
	return g.one("", "a", "b", "web", "x.y/z", "http", "80", "10%", "nginx", "nginx:1.2", "nginx:latest", "host:5000/a/b@sha256:00", "Upper/x", "a_b/c--d:latest", "localhost/q",
		"x@sha256:0123456789012345678901234567890123456789012345678901234567890123",
		"ü\u2028<&>", "v1", "Pod", "metadata.name", "0", "true", "kubernetes.io/tls", "1Gi", "2020-01-02T03:04:05Z")
}

func (g *generator) quantity() string {
	number := g.one("0", "1", "5", "100", "0.5", "1.5", "1024", "1000", "1500", "0.0001", "123456789", "+3", "-2", "007", "1.50", "8", ".5")
	return number + g.one("", "", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E", "n", "u", "Ti")
}

func (g *generator) moment(micro bool) string {
	text := g.one("2020-01-02T03:04:05", "1999-12-31T23:59:59", "2024-02-29T00:00:00", "0001-01-01T00:00:00")
	if g.timely && text[0] == '0' {
		text = "2025-05-05T05:05:05"
	}
	if micro {
		text += g.one(".000000", ".123456", ".100000")
	} else {
		text += g.one("", "", ".5", ".123456789")
	}
	return text + g.one("Z", "Z", "+02:00", "-07:30")
}

func (g *generator) anything(depth int) string {
	if depth > 2 {
		return g.one("1", "\"x\"", "null", "true")
	}
	switch g.random.Intn(8) {
	case 0:
		return "{" + quoted(g.word()) + ":" + g.anything(depth+1) + "}"
	case 1:
		return "[" + g.anything(depth+1) + "," + g.anything(depth+1) + "]"
	default:
		return g.one("0", "-1", "1.5", "12345678901", "\"\"", "\"a\"", "\"80\"", "true", "false", "null", "{}", "[]")
	}
}

var specialWords = map[string]func(*generator, int) string{
	"time":      func(g *generator, _ int) string { return quoted(g.moment(false)) },
	"microtime": func(g *generator, _ int) string { return quoted(g.moment(true)) },
	"duration":  func(g *generator, _ int) string { return quoted(g.one("1s", "1h2m", "0s", "1.5ms")) },
	"intorstring": func(g *generator, _ int) string {
		return g.one("80", "0", "-1", "\"25%\"", "\"http\"", "\"\"", "\"80\"")
	},
	"raw": func(g *generator, _ int) string {
		return g.one("{\"a\":1}", "{\"kind\":\"X\",\"apiVersion\":\"y/v1\"}", "{}")
	},
	"fields": func(g *generator, _ int) string { return g.one("{\"f:a\":{}}", "{}") },
	"json":   func(g *generator, depth int) string { return g.anything(0) },
	"bytes":  func(g *generator, _ int) string { return g.one("\"\"", "\"YQ==\"", "\"aGVsbG8=\"", "null", "\"/+8=\"") },
	"quantity": func(g *generator, _ int) string {
		if g.chance(10) {
			return g.one("1", "0.5", "100", "1e3", "0")
		}
		return quoted(g.quantity())
	},
}

func (g *generator) value(t reflect.Type, enum []any, depth int) string {
	g.budget--
	if g.wild && g.chance(1) && g.chance(30) {
		return g.anything(0)
	}
	if g.chance(2) {
		return "null"
	}
	if word, ok := special[t]; ok {
		if make, ok := specialWords[word]; ok {
			return make(g, depth)
		}
		schema := reflect.TypeOf(jsonSchemaProps)
		switch word {
		case "schemaorbool":
			return g.one("true", "false", g.object(schema, depth+1))
		case "schemaorarray":
			return g.one("["+g.object(schema, depth+1)+"]", g.object(schema, depth+1), "[]")
		default:
			return g.one("[\"a\",\"b\"]", g.object(schema, depth+1), "[]")
		}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.value(t.Elem(), enum, depth)
	case reflect.Struct:
		return g.object(t, depth)
	case reflect.Slice:
		items := []string{}
		for range g.random.Intn(3) {
			items = append(items, g.value(t.Elem(), enum, depth+1))
		}
		return "[" + strings.Join(items, ",") + "]"
	case reflect.Map:
		items := []string{}
		for range g.random.Intn(3) {
			key := g.one("a", "b", "cpu", "memory", "x.y/z", "pods", "")
			if g.chance(10) {
				key = g.one(oddKeys...)
			}
			items = append(items, quoted(key)+":"+g.value(t.Elem(), nil, depth+1))
		}
		return "{" + strings.Join(items, ",") + "}"
	case reflect.String:
		if len(enum) > 0 && g.chance(80) {
			return quoted(fmt.Sprint(enum[g.random.Intn(len(enum))]))
		}
		return quoted(g.word())
	case reflect.Bool:
		return g.one("true", "false")
	case reflect.Float64:
		return g.one("0", "1", "1.5", "-2.25", "1e10", "100")
	default:
		return g.one("0", "1", "2", "80", "443", "-1", "30", "420", "2147483647")
	}
}

func (g *generator) object(t reflect.Type, depth int) string {
	items := []string{}
	g.members(t, depth, &items)
	if g.wild && g.chance(2) {
		items = append(items, quoted(g.one("unknown", "metadataa", "Spec", "kInd"))+":"+g.anything(0))
	}
	if g.wild && len(items) > 0 && g.chance(1) {
		items = append(items, items[g.random.Intn(len(items))])
	}
	g.random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	return "{" + strings.Join(items, ",") + "}"
}

func (g *generator) members(t reflect.Type, depth int, items *[]string) {
	definition := g.definitions[openAPIName(t)].Schema
	share := []int{100, 80, 50, 40, 35, 30, 25, 20, 15, 10, 5, 0}[min(depth, 11)]
	for i := range t.NumField() {
		f := t.Field(i)
		key := strings.Split(f.Tag.Get("json"), ",")[0]
		if key == "-" || f.Name == "TypeMeta" || !f.IsExported() {
			continue
		}
		if key == "" {
			g.members(f.Type, depth, items)
			continue
		}
		if !g.chance(share) || g.budget < 0 {
			continue
		}
		property := definition.Properties[key]
		enum := property.Enum
		if property.Items != nil && property.Items.Schema != nil {
			enum = property.Items.Schema.Enum
		}
		*items = append(*items, quoted(key)+":"+g.value(f.Type, enum, depth+1))
	}
}
