//! The flags.

use crate::flag::{Flag, Takes};

/// Where and how a bundle would be installed.
pub const PLACE: &[Flag] = &[
    Flag::new(
        "namespace",
        Takes::One("NAME"),
        "the namespace that the operator is installed in (default: default)",
    )
    .short('n'),
    Flag::new(
        "watch-namespace",
        Takes::List("NAME"),
        "the namespaces that it watches (default: what its install modes say; needs a controller with the gate SingleOwnNamespaceInstallSupport)",
    ),
    Flag::new(
        "certificates",
        Takes::One("cert-manager|openshift|none"),
        "who makes the certificates of webhooks in the cluster (default cert-manager)",
    ),
];

/// Of `bundle render`.
pub const RENDER: &[Flag] = &[
    Flag::new(
        "deployment-config",
        Takes::One("FILE"),
        "what an extension's config.inline.deploymentConfig changes about the Deployments",
    ),
    Flag::new("catalog", Takes::Switch, "print the olm.bundle of a catalog instead, as opm render does"),
    Flag::new("image", Takes::One("REFERENCE"), "with --catalog: the reference of the bundle's image"),
    Flag::new(
        "migrate",
        Takes::Switch,
        "with --catalog: olm.csv.metadata instead of all objects, as opm's --migrate-level=bundle-object-to-csv-metadata",
    ),
];

/// How to print.
pub const OUTPUT: &[Flag] =
    &[Flag::new("output", Takes::One("FORM"), "json or yaml; for reports also text, the default").short('o')];

/// Of `bundle generate`.
pub const GENERATE: &[Flag] = &[
    Flag::new("version", Takes::One("VERSION"), "the version of the operator, such as 1.2.0 (required)"),
    Flag::new("image", Takes::One("REFERENCE"), "the image of the operator (required)"),
    Flag::new(
        "package",
        Takes::One("NAME"),
        "the package (default: projectName of the file PROJECT, then the project's folder)",
    ),
    Flag::new("channels", Takes::List("NAME"), "channels that the author wishes (default stable)"),
    Flag::new("default-channel", Takes::One("NAME"), "the channel that is the usual one"),
    Flag::new("crds", Takes::Switch, "install the CRDs with the bundle: only one extension of a cluster can"),
    Flag::new(
        "base",
        Takes::One("FILE"),
        "a ClusterServiceVersion with what people read: description, icon, links",
    ),
    Flag::new(
        "role",
        Takes::Many("FILE"),
        "Roles and ClusterRoles whose rules are taken instead of computed ones",
    ),
    Flag::new(
        "output-dir",
        Takes::One("FOLDER"),
        "where the bundle goes; what was there is replaced (default bundle)",
    )
    .short('d'),
];

/// Where `bundle build` keeps images.
pub const KEPT: &[Flag] = &[crate::image::DATA];

/// Of `bundle build` and `bundle push`.
pub const BUILD: &[Flag] = &[
    Flag::new(
        "previous",
        Takes::One("BUNDLE"),
        "the version before, to see whether the new version is honest",
    ),
    Flag::new("allow-breaking", Takes::Switch, "go on even if the version says less than has changed"),
];

/// Of `bundle push`.
pub const PUSH: &[Flag] = &[Flag::new(
    "overwrite",
    Takes::Switch,
    "replace a tag that has other content: those who use it get that",
)];
