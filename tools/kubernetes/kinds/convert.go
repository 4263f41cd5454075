package main

import (
	"encoding/json"
	"fmt"
	"math/rand"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// twins are the kinds that are served in two versions from one store.
var twins = [][2]schema.GroupVersionKind{
	{{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}, {Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}},
	{{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}, {Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}},
	{{Group: "", Version: "v1", Kind: "Event"}, {Group: "events.k8s.io", Version: "v1", Kind: "Event"}},
	{{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, {Group: "", Version: "v1", Kind: "Event"}},
}

type conversion struct {
	From  string          `json:"from"`
	To    string          `json:"to"`
	Value json.RawMessage `json:"value"`
	Other json.RawMessage `json:"other"`
}

// conversions writes random objects in two versions; those of the first twin also the way back.
func conversions(seed int64, count int) {
	codecs := legacyscheme.Codecs
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	known := definitions()
	name := func(kind schema.GroupVersionKind) string { return kind.GroupVersion().String() + " " + kind.Kind }
	for at, twin := range twins {
		g := generator{random: rand.New(rand.NewSource(seed*1000 + int64(at))), definitions: known, timely: true}
		from, to := twin[0], twin[1]
		for range count {
			g.budget = 40 + g.random.Intn(400)
			body := g.object(legacyscheme.Scheme.AllKnownTypes()[from], 0)
			texts := [3][]byte{}
			current := []byte(body)
			kinds := [3]schema.GroupVersionKind{from, to, from}
			source, good := from, true
			for step, kind := range kinds {
				internal := schema.GroupVersion{Group: source.Group, Version: runtime.APIVersionInternal}
				object, _, err := codecs.DecoderToVersion(info.Serializer, internal).Decode(current, &source, nil)
				if err == nil {
					texts[step], err = runtime.Encode(codecs.EncoderForVersion(info.Serializer, kind.GroupVersion()), object)
				}
				if good = err == nil; !good {
					break
				}
				current, source = texts[step], kind
			}
			if !good {
				continue
			}
			for _, line := range []conversion{
				{From: name(from), To: name(to), Value: texts[0], Other: texts[1]},
				{From: name(to), To: name(from), Value: texts[1], Other: texts[2]},
			} {
				text, err := json.Marshal(line)
				if err != nil {
					fail("%v", err)
				}
				fmt.Fprintf(out, "%s\n", text)
			}
		}
	}
}
