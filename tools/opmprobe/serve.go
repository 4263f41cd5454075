// Package opmprobe answers questions about catalogs with opm's own packages: one JSON object per line in, one out.
package opmprobe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/operator-framework/operator-registry/alpha/action"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/pkg/image"
	"github.com/operator-framework/operator-registry/pkg/lib/config"
)

// Request is one case.
type Request struct {
	// Op is catalog, template or fold.
	Op string `json:"op"`
	// Files of a catalog, by path.
	Files map[string][]byte `json:"files"`
	// Graphs that are asked for.
	Graphs []Graph `json:"graphs"`
	// Type and text of a template.
	Type string `json:"type"`
	Text []byte `json:"text"`
	// Bundles that images render to, each a stream of blobs.
	Bundles map[string][]byte `json:"bundles"`
}

// Graph is a way to draw a catalog.
type Graph struct {
	MinEdge string `json:"minEdge"`
	Package string `json:"package"`
	V0      bool   `json:"v0"`
}

// Text is an output or an error.
type Text struct {
	Out   []byte  `json:"out,omitempty"`
	Error *string `json:"error,omitempty"`
}

// Answer has what was asked for.
type Answer struct {
	Validate *Text    `json:"validate,omitempty"`
	JSON     *Text    `json:"json,omitempty"`
	YAML     *Text    `json:"yaml,omitempty"`
	Graphs   []Text   `json:"graphs,omitempty"`
	Folded   []string `json:"folded,omitempty"`
	Bad      string   `json:"bad,omitempty"`
}

// Renderer gives what an image renders to.
type Renderer func(context.Context, string) (*declcfg.DeclarativeConfig, error)

// Version is what differs between the versions of opm.
type Version struct {
	// Template renders a template; an empty type is detected.
	Template func(kind string, text io.Reader, render Renderer) (*declcfg.DeclarativeConfig, error)
	// Graph draws a catalog.
	Graph func(cfg declcfg.DeclarativeConfig, graph Graph, out io.Writer) error
	// Fold folds a key.
	Fold func(string) string
}

// Main answers until the input ends.
func Main(v Version) {
	logrus.SetOutput(io.Discard)
	if err := serve(v); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func serve(v Version) error {
	dir, err := os.MkdirTemp("", "podium-opm-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	encoder := json.NewEncoder(out)
	for number := 0; ; number++ {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 {
			if errors.Is(err, io.EOF) {
				return out.Flush()
			}
			return err
		}
		var request Request
		var answer Answer
		if err := json.Unmarshal(line, &request); err != nil {
			answer.Bad = err.Error()
		} else {
			answer = ask(v, filepath.Join(dir, fmt.Sprint(number)), &request)
		}
		if err := encoder.Encode(answer); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

func ask(v Version, dir string, r *Request) (answer Answer) {
	defer func() {
		if p := recover(); p != nil {
			answer.Bad = fmt.Sprint("panic: ", p)
		}
	}()
	switch r.Op {
	case "catalog":
		return catalog(v, dir, r)
	case "template":
		return template(v, r)
	case "fold":
		for _, line := range strings.Split(string(r.Text), "\n") {
			answer.Folded = append(answer.Folded, v.Fold(line))
		}
		return answer
	}
	return Answer{Bad: "unknown op " + r.Op}
}

func result(out []byte, err error) *Text {
	if err != nil {
		text := err.Error()
		return &Text{Error: &text}
	}
	return &Text{Out: out}
}

// noRegistry refuses every image.
type noRegistry struct{}

func (noRegistry) Pull(context.Context, image.Reference) error { return errors.New("no images here") }
func (noRegistry) Unpack(context.Context, image.Reference, string) error {
	return errors.New("no images here")
}
func (noRegistry) Labels(context.Context, image.Reference) (map[string]string, error) {
	return nil, errors.New("no images here")
}
func (noRegistry) Destroy() error { return nil }

func catalog(v Version, dir string, r *Request) (answer Answer) {
	defer os.RemoveAll(dir)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return Answer{Bad: err.Error()}
	}
	for name, data := range r.Files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return Answer{Bad: err.Error()}
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return Answer{Bad: err.Error()}
		}
	}
	ctx := context.Background()
	answer.Validate = result(nil, config.Validate(ctx, os.DirFS(dir)))
	render := func() (*declcfg.DeclarativeConfig, error) {
		// The reference is the directory, which is new each time: it is taken out of the text.
		cfg, err := action.Render{Refs: []string{dir}, Registry: noRegistry{}}.Run(ctx)
		if err != nil {
			return nil, errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("render reference %q: ", dir)))
		}
		return cfg, nil
	}
	cfg, err := render()
	answer.JSON, answer.YAML = written(cfg, err)
	for _, graph := range r.Graphs {
		var out bytes.Buffer
		cfg, err := render()
		if err == nil {
			err = v.Graph(*cfg, graph, &out)
		}
		answer.Graphs = append(answer.Graphs, *result(out.Bytes(), err))
	}
	return answer
}

func written(cfg *declcfg.DeclarativeConfig, err error) (*Text, *Text) {
	if err != nil {
		return result(nil, err), result(nil, err)
	}
	var asJSON, asYAML bytes.Buffer
	errJSON := declcfg.WriteJSON(*cfg, &asJSON)
	errYAML := declcfg.WriteYAML(*cfg, &asYAML)
	return result(asJSON.Bytes(), errJSON), result(asYAML.Bytes(), errYAML)
}

func template(v Version, r *Request) (answer Answer) {
	render := func(_ context.Context, ref string) (*declcfg.DeclarativeConfig, error) {
		text, ok := r.Bundles[ref]
		if !ok {
			return nil, fmt.Errorf("no image %q", ref)
		}
		return declcfg.LoadReader(bytes.NewReader(text))
	}
	cfg, err := v.Template(r.Type, bytes.NewReader(r.Text), render)
	answer.JSON, answer.YAML = written(cfg, err)
	return answer
}
