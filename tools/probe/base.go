package probe

import (
	"reflect"
	"slices"
	"strings"
)

// base is a set of chart files that many requests share, with the chart that was loaded from it once.
type base struct {
	files []File
	chart any
}

func newBase(m Major, files []File) *base {
	b := &base{files: files}
	inSubchart := func(f File) bool { return strings.HasPrefix(f.Name, "charts/") }
	if !slices.ContainsFunc(files, inSubchart) {
		// A chart that does not load is simply not kept: the request that uses it gets the error.
		b.chart, _ = m.Load(overlay(files, nil))
	}
	return b
}

// chartWith gives the chart with the request's files on top. Reading the same YAML again is most of the
// work of a small probe, so a request that only adds templates gets a deep copy of the loaded chart.
func (b *base) chartWith(m Major, extra []File) (any, error) {
	onlyAdds := func(f File) bool {
		known := slices.ContainsFunc(b.files, func(g File) bool { return g.Name == f.Name })
		return !known && strings.HasPrefix(f.Name, "templates/")
	}
	for _, f := range extra {
		if b.chart == nil || !onlyAdds(f) {
			return m.Load(overlay(b.files, extra))
		}
	}
	return m.WithTemplates(b.chart, overlay(nil, extra)), nil
}

// Clone copies maps, slices, pointers and exported fields all the way down.
func Clone[T any](v T) T {
	var out T
	clone(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&v).Elem())
	return out
}

func clone(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.Interface:
		if !from.IsNil() {
			inner := reflect.New(from.Elem().Type()).Elem()
			clone(inner, from.Elem())
			to.Set(inner)
		}
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Elem().Type()))
			clone(to.Elem(), from.Elem())
		}
	case reflect.Map:
		if !from.IsNil() {
			to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))
			for entries := from.MapRange(); entries.Next(); {
				value := reflect.New(from.Type().Elem()).Elem()
				clone(value, entries.Value())
				to.SetMapIndex(entries.Key(), value)
			}
		}
	case reflect.Slice:
		if !from.IsNil() {
			to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
			if from.Type().Elem().Kind() == reflect.Uint8 {
				reflect.Copy(to, from)
				return
			}
			for i := range from.Len() {
				clone(to.Index(i), from.Index(i))
			}
		}
	case reflect.Struct:
		to.Set(from)
		for i := range from.NumField() {
			if from.Type().Field(i).IsExported() {
				clone(to.Field(i), from.Field(i))
			}
		}
	default:
		to.Set(from)
	}
}
