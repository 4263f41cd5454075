package main

import (
	"bytes"
	"context"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-framework/operator-registry/alpha/declcfg"

	ocv1 "github.com/operator-framework/operator-controller/api/v1"
	"github.com/operator-framework/operator-controller/internal/operator-controller/bundleutil"
	"github.com/operator-framework/operator-controller/internal/operator-controller/catalogmetadata/cache"
	catalogclient "github.com/operator-framework/operator-controller/internal/operator-controller/catalogmetadata/client"
	"github.com/operator-framework/operator-controller/internal/operator-controller/resolve"
)

// wish is a question to the resolver: catalogs, what is wanted of them, and what is installed.
type wish struct {
	Catalogs  []shop   `json:"catalogs"`
	Package   string   `json:"package"`
	Channels  []string `json:"channels"`
	Version   string   `json:"version"`
	Policy    string   `json:"policy"`
	Installed *struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"installed"`
}

// shop is a catalog: its documents are a stream, as catalogd serves it.
type shop struct {
	Name      string `json:"name"`
	Priority  int32  `json:"priority"`
	Documents []byte `json:"documents"`
}

// choice is the bundle that the controller installs.
type choice struct {
	Bundle string `json:"bundle"`
	// Version is what the status of the extension shows.
	Version string `json:"version"`
	Release string `json:"release"`
	Image   string `json:"image"`
	// Deprecated is all that the resolver says of deprecations; the controller makes its conditions of it.
	Deprecated []declcfg.DeprecationEntry `json:"deprecated"`
}

// seen is where a catalog seems to come from; the cache only compares it.
const seen = "example.com/catalog@sha256:0"

// find asks the resolver, put together as the controller's main function does. Only the HTTP between catalogd and the
// cache of the controller is left out.
func find(w *wish) (*choice, error) {
	dir, err := os.MkdirTemp("", "podium-probe-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store := cache.NewFilesystemCache(dir)
	var catalogs []ocv1.ClusterCatalog
	for _, s := range w.Catalogs {
		// An error is kept by the cache, which tells it when it is asked.
		_, _ = store.Put(s.Name, seen, bytes.NewReader(s.Documents), nil)
		catalogs = append(catalogs, served(s))
	}
	list := func(context.Context, ...client.ListOption) ([]ocv1.ClusterCatalog, error) { return catalogs, nil }
	resolver := &resolve.CatalogResolver{
		WalkCatalogsFunc: resolve.CatalogWalker(list, catalogclient.New(store, nil).GetPackage),
		Validations:      []resolve.ValidationFunc{resolve.NoDependencyValidation},
	}
	extension := &ocv1.ClusterExtension{Spec: ocv1.ClusterExtensionSpec{Source: ocv1.SourceConfig{
		SourceType: ocv1.SourceTypeCatalog,
		Catalog: &ocv1.CatalogFilter{
			PackageName:             w.Package,
			Channels:                w.Channels,
			Version:                 w.Version,
			UpgradeConstraintPolicy: ocv1.UpgradeConstraintPolicy(w.Policy),
		},
	}}}
	var installed *ocv1.BundleMetadata
	if w.Installed != nil {
		installed = &ocv1.BundleMetadata{Name: w.Installed.Name, Version: w.Installed.Version}
	}
	bundle, version, deprecation, err := resolver.Resolve(context.Background(), extension, installed)
	if err != nil {
		return nil, err
	}
	c := &choice{
		Bundle:  bundle.Name,
		Version: bundleutil.MetadataFor(bundle.Name, *version).Version,
		Release: version.Release.String(),
		Image:   bundle.Image,
	}
	if deprecation != nil {
		c.Deprecated = deprecation.Entries
	}
	return c, nil
}

func served(s shop) ocv1.ClusterCatalog {
	return ocv1.ClusterCatalog{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name},
		Spec:       ocv1.ClusterCatalogSpec{Priority: s.Priority, AvailabilityMode: ocv1.AvailabilityModeAvailable},
		Status: ocv1.ClusterCatalogStatus{
			Conditions:     []metav1.Condition{{Type: ocv1.TypeServing, Status: metav1.ConditionTrue}},
			ResolvedSource: &ocv1.ResolvedCatalogSource{Image: &ocv1.ResolvedImageSource{Ref: seen}},
		},
	}
}
