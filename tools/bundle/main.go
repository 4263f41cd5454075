// What opm and the lifecycle controller make of a bundle, and which one the controller takes from catalogs, with their
// own packages: one JSON request per line on stdin, one answer per line on stdout.
package main

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
	"testing/fstest"

	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operator-framework/operator-registry/alpha/action"
	"github.com/operator-framework/operator-registry/alpha/action/migrations"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/pkg/image"
	"github.com/operator-framework/operator-registry/pkg/lib/bundle"

	ocv1 "github.com/operator-framework/operator-controller/api/v1"
	"github.com/operator-framework/operator-controller/internal/operator-controller/applier"
	"github.com/operator-framework/operator-controller/internal/operator-controller/rukpak/render"
	"github.com/operator-framework/operator-controller/internal/operator-controller/rukpak/render/certproviders"
	"github.com/operator-framework/operator-controller/internal/operator-controller/rukpak/render/registryv1"
)

// request is a question about a bundle: its files, or a folder that has them.
type request struct {
	Op    string            `json:"op"`
	Files map[string][]byte `json:"files"`
	Dir   string            `json:"dir"`
	// Image is the reference that opm is told; empty for a folder.
	Image string `json:"image"`
	// Migrate asks opm for the metadata of the ClusterServiceVersion instead of the objects.
	Migrate bool `json:"migrate"`
	// Namespace is where the controller installs.
	Namespace string `json:"namespace"`
	// Config is the extension's inline configuration.
	Config json.RawMessage `json:"config"`
	// Certificates is who makes them: "cert-manager", "openshift" or nobody.
	Certificates string `json:"certificates"`
	// Single and Deployment are the gates of the same features.
	Single     bool `json:"single"`
	Deployment bool `json:"deployment"`
	// Wish is what to look for in catalogs.
	Wish *wish `json:"wish"`
}

type answer struct {
	// Out is what opm prints.
	Out []byte `json:"out,omitempty"`
	// Objects are what the controller renders, each as it marshals it.
	Objects []string `json:"objects,omitempty"`
	// Choice is the bundle that the resolver takes.
	Choice *choice `json:"choice,omitempty"`
	Error  *string `json:"error,omitempty"`
	Panic  bool    `json:"panic,omitempty"`
}

func main() {
	logrus.SetOutput(io.Discard)
	log.SetLogger(logr.Discard())
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			reply, err := json.Marshal(serve(line))
			if err != nil {
				text := "probe: " + err.Error()
				reply, _ = json.Marshal(answer{Error: &text, Panic: true})
			}
			out.Write(reply)
			out.WriteByte('\n')
			if in.Buffered() == 0 {
				out.Flush()
			}
		}
		if err != nil {
			out.Flush()
			return
		}
	}
}

func serve(line []byte) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprintf("panic: %v", p)
			a = answer{Error: &text, Panic: true}
		}
	}()
	var r request
	err := json.Unmarshal(line, &r)
	if err == nil {
		switch r.Op {
		case "opm":
			a.Out, err = opm(&r)
		case "controller":
			a.Objects, err = controller(&r)
		case "resolve":
			if r.Wish == nil {
				err = errors.New("probe: no wish")
				break
			}
			a.Choice, err = find(r.Wish)
		default:
			err = errors.New("probe: unknown op " + r.Op)
		}
	}
	if err != nil {
		text := err.Error()
		a = answer{Error: &text}
	}
	return a
}

// put writes the files of a request below a folder.
func put(files map[string][]byte, dir string) error {
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// shelf is a registry that has one image: a bundle with the files of a request.
type shelf struct{ r *request }

func (s shelf) Pull(context.Context, image.Reference) error { return nil }
func (s shelf) Labels(context.Context, image.Reference) (map[string]string, error) {
	return map[string]string{bundle.PackageLabel: "any"}, nil
}
func (s shelf) Destroy() error { return nil }
func (s shelf) Unpack(_ context.Context, _ image.Reference, dir string) error {
	if s.r.Dir != "" {
		return os.CopyFS(dir, os.DirFS(s.r.Dir))
	}
	return put(s.r.Files, dir)
}

func opm(r *request) ([]byte, error) {
	ref := r.Image
	if ref == "" {
		ref = r.Dir
	}
	if ref == "" {
		dir, err := os.MkdirTemp("", "podium-probe-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		if err := put(r.Files, dir); err != nil {
			return nil, err
		}
		ref = dir
	}
	level := "none"
	if r.Migrate {
		level = "bundle-object-to-csv-metadata"
	}
	steps, err := migrations.NewMigrations(level)
	if err != nil {
		return nil, err
	}
	config, err := action.Render{Refs: []string{ref}, Registry: shelf{r}, Migrations: steps}.Run(context.Background())
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = declcfg.WriteJSON(*config, &out)
	return out.Bytes(), err
}

func controller(r *request) ([]string, error) {
	var provider render.CertificateProvider
	switch r.Certificates {
	case "cert-manager":
		provider = certproviders.CertManagerCertificateProvider{}
	case "openshift":
		provider = certproviders.OpenshiftServiceCaCertificateProvider{}
	}
	extension := &ocv1.ClusterExtension{Spec: ocv1.ClusterExtensionSpec{Namespace: r.Namespace}}
	if len(r.Config) > 0 {
		extension.Spec.Config = &ocv1.ClusterExtensionConfig{
			ConfigType: ocv1.ClusterExtensionConfigTypeInline,
			Inline:     &apiextensionsv1.JSON{Raw: r.Config},
		}
	}
	manifests := applier.RegistryV1ManifestProvider{
		BundleRenderer:              registryv1.Renderer,
		CertificateProvider:         provider,
		IsWebhookSupportEnabled:     provider != nil,
		IsSingleOwnNamespaceEnabled: r.Single,
		IsDeploymentConfigEnabled:   r.Deployment,
	}
	files := fstest.MapFS{}
	for name, data := range r.Files {
		files[name] = &fstest.MapFile{Data: data, Mode: 0o600}
	}
	get := manifests.Get
	objects, err := get(files, extension)
	if r.Dir != "" {
		objects, err = get(os.DirFS(r.Dir), extension)
	}
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(objects))
	for _, object := range objects {
		data, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		out = append(out, string(data))
	}
	return out, nil
}
