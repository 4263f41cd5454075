package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/printers"
	"k8s.io/kubernetes/pkg/printers/internalversion"
)

var generatorOfTables = printers.NewTableGenerator().With(internalversion.AddHandlers)

// printed says whether a kind's objects are rows of tables.
func printed(kind schema.GroupVersionKind) bool {
	return !strings.HasSuffix(kind.Kind, "List") && !strings.HasSuffix(kind.Kind, "Options") && kind.Kind != "Status"
}

// columns writes the columns of a kind that has a printer of its own.
func columns(kind schema.GroupVersionKind) {
	internal := kind.GroupKind().WithVersion(runtime.APIVersionInternal)
	object, err := legacyscheme.Scheme.New(internal)
	if err != nil {
		return
	}
	table, err := generatorOfTables.GenerateTable(object, printers.GenerateOptions{Wide: true})
	if err != nil {
		return
	}
	for _, column := range table.ColumnDefinitions {
		format := column.Format
		if format == "" {
			format = "-"
		}
		fmt.Fprintf(out, "column %s %s %s %s %d %s\n", kind.GroupVersion(), kind.Kind, column.Type, format, column.Priority, column.Name)
	}
}

type row struct {
	Kind       string                     `json:"kind"`
	Object     json.RawMessage            `json:"object"`
	Now        int64                      `json:"now"`
	Cells      []any                      `json:"cells"`
	Conditions []metav1.TableRowCondition `json:"conditions,omitempty"`
}

// tables writes random objects and the cells of their rows.
func tables(kinds []schema.GroupVersionKind, seed int64, count int) {
	codecs := legacyscheme.Codecs
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	known := definitions()
	for at, kind := range kinds {
		if !printed(kind) {
			continue
		}
		g := generator{random: rand.New(rand.NewSource(seed*1000 + int64(at))), definitions: known, timely: true}
		internal := schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}
		decoder := codecs.DecoderToVersion(info.Serializer, internal)
		encoder := codecs.EncoderForVersion(info.Serializer, kind.GroupVersion())
		for range count {
			g.budget = 40 + g.random.Intn(400)
			body := g.object(legacyscheme.Scheme.AllKnownTypes()[kind], 0)
			object, _, err := decoder.Decode([]byte(body), &kind, nil)
			if err != nil {
				continue
			}
			text, err := runtime.Encode(encoder, object)
			if err != nil {
				continue
			}
			// As it comes out of the store.
			object, _, err = decoder.Decode(text, &kind, nil)
			if err != nil {
				continue
			}
			line := row{Kind: kind.GroupVersion().String() + " " + kind.Kind, Object: text}
			if !render(object, &line) {
				continue
			}
			answer, err := json.Marshal(line)
			if err != nil {
				fail("%v", err)
			}
			fmt.Fprintf(out, "%s\n", answer)
		}
	}
}

// render fills in the cells; some objects that no server would accept make the printers panic.
func render(object runtime.Object, line *row) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	line.Now = time.Now().Unix()
	table, err := generatorOfTables.GenerateTable(object, printers.GenerateOptions{Wide: true})
	if err != nil || len(table.Rows) != 1 {
		return false
	}
	line.Cells, line.Conditions = table.Rows[0].Cells, table.Rows[0].Conditions
	return true
}
