package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	sigsjson "sigs.k8s.io/json"
)

var jsonSchemaProps apiextensionsv1.JSONSchemaProps

// protobufs writes random objects in protobuf and what they are in JSON after being read again.
func protobufs(kinds []schema.GroupVersionKind, seed int64, count int) {
	scheme := legacyscheme.Scheme
	serializer := protobuf.NewSerializer(scheme, scheme)
	all := definitions()
	for at, kind := range kinds {
		random := rand.New(rand.NewSource(seed*1000 + int64(at)))
		g := generator{random: random, definitions: all}
		for range count {
			g.budget = 400
			object, err := scheme.New(kind)
			if err != nil {
				fail("%v", err)
			}
			t := scheme.AllKnownTypes()[kind]
			if err := sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(g.object(t, 0)), object); err != nil {
				continue
			}
			object.GetObjectKind().SetGroupVersionKind(kind)
			var wire bytes.Buffer
			if err := serializer.Encode(object, &wire); err != nil {
				fail("%v: %v", kind, err)
			}
			again, _, err := serializer.Decode(wire.Bytes(), nil, nil)
			if err != nil {
				fail("%v: %v", kind, err)
			}
			text, err := json.Marshal(again)
			if err != nil {
				continue
			}
			fmt.Fprintf(out, "%s %s\n", hex.EncodeToString(wire.Bytes()), text)
		}
	}
}

type answer struct {
	Kind   string          `json:"kind"`
	Body   string          `json:"body"`
	Stored json.RawMessage `json:"stored,omitempty"`
	Error  string          `json:"error,omitempty"`
	Strict string          `json:"strict,omitempty"`
}

// decode writes random bodies and what a server makes of them: read into the types of their version, and if all is
// wanted also defaulted, and converted to the server's own types and back.
func decode(kinds []schema.GroupVersionKind, seed int64, count int, all bool) {
	scheme, codecs := legacyscheme.Scheme, legacyscheme.Codecs
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	known := definitions()
	for at, kind := range kinds {
		random := rand.New(rand.NewSource(seed*1000 + int64(at)))
		g := generator{random: random, definitions: known}
		var decoder runtime.Decoder = info.StrictSerializer
		var encoder runtime.Encoder = info.Serializer
		if all {
			internal := schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}
			decoder = codecs.DecoderToVersion(info.StrictSerializer, internal)
			encoder = codecs.EncoderForVersion(info.Serializer, kind.GroupVersion())
		}
		for range count {
			g.budget = 20 + random.Intn(300)
			g.wild = g.chance(25)
			body := g.object(scheme.AllKnownTypes()[kind], 0)
			if g.chance(80) {
				head := fmt.Sprintf("{\"apiVersion\":%q,\"kind\":%q,", kind.GroupVersion().String(), kind.Kind)
				body = strings.TrimSuffix(head+body[1:], ",}")
				if !strings.HasSuffix(body, "}") {
					body += "}"
				}
			}
			line := answer{Kind: kind.GroupVersion().String() + " " + kind.Kind, Body: body}
			object, _, err := decoder.Decode([]byte(body), &kind, nil)
			if strict, ok := runtime.AsStrictDecodingError(err); ok && object != nil {
				line.Strict, err = strict.Error(), nil
			}
			if err != nil {
				line.Error = err.Error()
			} else if text, err := runtime.Encode(encoder, object); err != nil {
				continue
			} else {
				line.Stored = text
			}
			text, err := json.Marshal(line)
			if err != nil {
				fail("%v", err)
			}
			fmt.Fprintf(out, "%s\n", text)
		}
	}
}
