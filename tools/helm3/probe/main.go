// Command probe renders charts with Helm 3's own packages; package podium.dev/tools/probe has the protocol.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"

	"podium.dev/tools/probe"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/release"
)

type helm3 struct{}

func main() { probe.Main(helm3{}) }

func (helm3) Version() string { return chartutil.DefaultCapabilities.HelmVersion.Version }

func (helm3) SetLog(w io.Writer) {
	log.SetFlags(log.Lshortfile)
	log.SetOutput(w)
}

func (helm3) Load(files []probe.File) (any, error) {
	buffered := make([]*loader.BufferedFile, len(files))
	for i, f := range files {
		buffered[i] = &loader.BufferedFile{Name: f.Name, Data: f.Data}
	}
	return loader.LoadFiles(buffered)
}

func (helm3) WithTemplates(loaded any, templates []probe.File) any {
	from := loaded.(*chart.Chart)
	to := &chart.Chart{
		Metadata: probe.Clone(from.Metadata), Lock: from.Lock, Values: probe.Clone(from.Values),
		Schema: from.Schema, Templates: probe.Clone(from.Templates), Files: probe.Clone(from.Files),
	}
	for _, f := range templates {
		to.Templates = append(to.Templates, &chart.File{Name: f.Name, Data: f.Data})
	}
	return to
}

func (helm3) Render(load func() (any, error), r *probe.Request) (out probe.Outcome, err error) {
	client := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	if r.KubeVersion != "" {
		client.KubeVersion, err = chartutil.ParseKubeVersion(r.KubeVersion)
		if err != nil {
			return out, fmt.Errorf("invalid kube version '%s': %s", r.KubeVersion, err)
		}
	}
	options := values.Options{
		ValueFiles: r.Values, Values: probe.Strings(r.Set), StringValues: probe.Strings(r.SetString),
		JSONValues: probe.Strings(r.SetJSON), FileValues: probe.Strings(r.SetFile),
		LiteralValues: probe.Strings(r.SetLiteral),
	}
	vals, err := options.MergeValues(getter.Providers{})
	if err != nil {
		return out, err
	}
	loaded, err := load()
	if err != nil {
		return out, err
	}
	ch := loaded.(*chart.Chart)
	if kind := ch.Metadata.Type; kind != "" && kind != "application" {
		return out, fmt.Errorf("%s charts are not installable", kind)
	}
	if req := ch.Metadata.Dependencies; req != nil {
		if err := action.CheckDependencies(ch, req); err != nil {
			return out, fmt.Errorf("An error occurred while checking for chart dependencies. You may need to run `helm dependency build` to fetch missing dependencies: %w", err)
		}
	}
	if !r.Stdout {
		return engineOnly(ch, vals, client, r)
	}

	client.DryRun = true
	client.DryRunOption = "true"
	client.ClientOnly = true
	client.Replace = true
	client.ReleaseName = r.Release
	client.Namespace = r.Namespace
	client.APIVersions = r.APIVersions
	client.IncludeCRDs = r.IncludeCRDs
	client.IsUpgrade = r.Upgrade
	client.SkipSchemaValidation = r.SkipSchema
	rel, err := client.Run(ch, vals)
	if err != nil {
		if rel != nil {
			err = withHint(err)
		}
		return out, err
	}
	var text bytes.Buffer
	fmt.Fprintln(&text, strings.TrimSpace(rel.Manifest))
	for _, hook := range rel.Hooks {
		if r.NoHooks || r.SkipTests && slices.Contains(hook.Events, release.HookTest) {
			continue
		}
		fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
	}
	stdout := text.String()
	out.Stdout = &stdout
	return out, nil
}

// engineOnly stops before the output is split and sorted, so that a template may print anything.
func engineOnly(ch *chart.Chart, vals map[string]any, client *action.Install, r *probe.Request) (out probe.Outcome, err error) {
	if err := chartutil.ProcessDependenciesWithMerge(ch, vals); err != nil {
		return out, err
	}
	caps := chartutil.DefaultCapabilities.Copy()
	if client.KubeVersion != nil {
		caps.KubeVersion = *client.KubeVersion
	}
	caps.APIVersions = append(caps.APIVersions, r.APIVersions...)
	facts := chartutil.ReleaseOptions{
		Name: r.Release, Namespace: r.Namespace, Revision: 1, IsInstall: !r.Upgrade, IsUpgrade: r.Upgrade,
	}
	top, err := chartutil.ToRenderValuesWithSchemaValidation(ch, vals, facts, caps, r.SkipSchema)
	if err != nil {
		return out, err
	}
	var e engine.Engine
	if out.Files, err = e.Render(ch, top); err != nil {
		return out, withHint(err)
	}
	return out, nil
}

func withHint(err error) error {
	return fmt.Errorf("%w\n\nUse --debug flag to render out invalid YAML", err)
}

func (helm3) Loaded(path string) (func() (int, error), error) {
	ch, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	vals := map[string]any{}
	if err := chartutil.ProcessDependenciesWithMerge(ch, vals); err != nil {
		return nil, err
	}
	facts := chartutil.ReleaseOptions{Name: "bench", Namespace: "default", Revision: 1, IsInstall: true}
	return func() (int, error) {
		top, err := chartutil.ToRenderValues(ch, vals, facts, chartutil.DefaultCapabilities)
		if err != nil {
			return 0, err
		}
		files, err := engine.Engine{}.Render(ch, top)
		size := 0
		for _, text := range files {
			size += len(text)
		}
		return size, err
	}, nil
}
