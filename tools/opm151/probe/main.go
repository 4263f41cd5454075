// Command probe answers questions about catalogs with the packages of opm 1.51; podium.dev/tools/opmprobe has the protocol.
package main

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/text/cases"

	"podium.dev/tools/opmprobe"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/template/basic"
	"github.com/operator-framework/operator-registry/alpha/template/semver"
)

func main() {
	opmprobe.Main(opmprobe.Version{Template: render, Graph: graph, Fold: cases.Fold().String})
}

func render(kind string, text io.Reader, bundle opmprobe.Renderer) (*declcfg.DeclarativeConfig, error) {
	switch kind {
	case "semver":
		return semver.Template{Data: text, RenderBundle: bundle}.Render(context.Background())
	case "basic":
		return basic.Template{RenderBundle: bundle}.Render(context.Background(), text)
	}
	return nil, fmt.Errorf("unknown template type: %s", kind)
}

func graph(cfg declcfg.DeclarativeConfig, graph opmprobe.Graph, out io.Writer) error {
	writer := declcfg.NewMermaidWriter(
		declcfg.WithMinEdgeName(graph.MinEdge),
		declcfg.WithSpecifiedPackageName(graph.Package))
	return writer.WriteChannels(cfg, out)
}
