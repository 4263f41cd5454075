// Command probe renders charts with Helm 4's own packages; package podium.dev/tools/probe has the protocol.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"log/slog"
	"slices"
	"strings"

	"podium.dev/tools/probe"

	"helm.sh/helm/v4/pkg/action"
	ci "helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/cli/values"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/getter"
	release "helm.sh/helm/v4/pkg/release/v1"
)

type helm4 struct{}

func main() { probe.Main(helm4{}) }

func (helm4) Version() string { return common.DefaultCapabilities.HelmVersion.Version }

func (helm4) SetLog(w io.Writer) {
	log.SetOutput(w)
	dropTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: dropTime})))
}

func (helm4) Load(files []probe.File) (any, error) {
	buffered := make([]*archive.BufferedFile, len(files))
	for i, f := range files {
		buffered[i] = &archive.BufferedFile{Name: f.Name, Data: f.Data}
	}
	return loader.LoadFiles(buffered)
}

func (helm4) WithTemplates(loaded any, templates []probe.File) any {
	from := loaded.(*chart.Chart)
	to := &chart.Chart{
		Metadata: probe.Clone(from.Metadata), Lock: from.Lock, Values: probe.Clone(from.Values),
		Schema: from.Schema, Templates: probe.Clone(from.Templates), Files: probe.Clone(from.Files),
	}
	for _, f := range templates {
		to.Templates = append(to.Templates, &common.File{Name: f.Name, Data: f.Data})
	}
	return to
}

func (helm4) Render(load func() (any, error), r *probe.Request) (out probe.Outcome, err error) {
	client := action.NewInstall(action.NewConfiguration())
	if r.KubeVersion != "" {
		client.KubeVersion, err = common.ParseKubeVersion(r.KubeVersion)
		if err != nil {
			return out, fmt.Errorf("invalid kube version '%s': %w", r.KubeVersion, err)
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
	if err := missing(ch); err != nil {
		return out, err
	}
	if !r.Stdout {
		return engineOnly(ch, vals, client, r)
	}

	client.DryRunStrategy = action.DryRunClient
	client.Replace = true
	client.ReleaseName = r.Release
	client.Namespace = r.Namespace
	client.APIVersions = r.APIVersions
	client.IncludeCRDs = r.IncludeCRDs
	client.IsUpgrade = r.Upgrade
	client.SkipSchemaValidation = r.SkipSchema
	done, err := client.Run(ch, vals)
	rel, _ := done.(*release.Release)
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

func missing(ch *chart.Chart) error {
	if req := ch.Metadata.Dependencies; len(req) > 0 {
		list := make([]ci.Dependency, len(req))
		for i, d := range req {
			list[i] = d
		}
		if err := action.CheckDependencies(ch, list); err != nil {
			return fmt.Errorf("an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to fetch missing dependencies: %w", err)
		}
	}
	return nil
}

// engineOnly stops before the output is split and sorted, so that a template may print anything.
func engineOnly(ch *chart.Chart, vals map[string]any, client *action.Install, r *probe.Request) (out probe.Outcome, err error) {
	if err := chartutil.ProcessDependencies(ch, vals); err != nil {
		return out, fmt.Errorf("chart dependencies processing failed: %w", err)
	}
	caps := common.DefaultCapabilities.Copy()
	if client.KubeVersion != nil {
		caps.KubeVersion = *client.KubeVersion
	}
	caps.APIVersions = append(caps.APIVersions, r.APIVersions...)
	facts := common.ReleaseOptions{
		Name: r.Release, Namespace: r.Namespace, Revision: 1, IsInstall: !r.Upgrade, IsUpgrade: r.Upgrade,
	}
	top, err := util.ToRenderValuesWithSchemaValidation(ch, vals, facts, caps, r.SkipSchema)
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

func (helm4) Loaded(path string) (func() (int, error), error) {
	ch, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	vals := map[string]any{}
	if err := chartutil.ProcessDependencies(ch, vals); err != nil {
		return nil, err
	}
	facts := common.ReleaseOptions{Name: "bench", Namespace: "default", Revision: 1, IsInstall: true}
	return func() (int, error) {
		top, err := util.ToRenderValues(ch, vals, facts, common.DefaultCapabilities)
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
