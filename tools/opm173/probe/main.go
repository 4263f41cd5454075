// Command probe answers questions about catalogs with the packages of opm 1.73; podium.dev/tools/opmprobe has the protocol.
package main

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/text/cases"

	"podium.dev/tools/opmprobe"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/template"
)

func main() {
	opmprobe.Main(opmprobe.Version{Template: render, Graph: graph, Fold: cases.Fold().String})
}

func render(kind string, text io.Reader, bundle opmprobe.Renderer) (*declcfg.DeclarativeConfig, error) {
	registry := template.NewRegistry()
	renderer := template.BundleRenderer(bundle)
	var made template.Template
	var err error
	if kind != "" {
		if made, err = registry.CreateTemplateByType(kind, renderer); err != nil {
			return nil, fmt.Errorf("creating template by type: %v", err)
		}
	} else if made, text, err = registry.CreateTemplateBySchema(text, renderer); err != nil {
		return nil, fmt.Errorf("auto-detecting template type: %v", err)
	}
	cfg, err := made.Render(context.Background(), text)
	if err != nil {
		return nil, fmt.Errorf("rendering template: %v", err)
	}
	return cfg, nil
}

func graph(cfg declcfg.DeclarativeConfig, graph opmprobe.Graph, out io.Writer) error {
	writer := declcfg.NewMermaidWriter(
		declcfg.WithMinEdgeName(graph.MinEdge),
		declcfg.WithSpecifiedPackageName(graph.Package),
		declcfg.WithV0Semantics(graph.V0))
	return writer.WriteChannels(cfg, out)
}
