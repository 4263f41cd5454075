//! Validation findings of a bundle from opm and operator-controller.

use std::fmt;

/// The program that rejects a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Validator {
    /// `opm render`, which adds bundles to catalogs.
    Opm,
    /// operator-controller, which installs bundles.
    Controller,
}

impl Validator {
    /// Name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Validator::Opm => "opm",
            Validator::Controller => "the lifecycle controller",
        }
    }
}

macro_rules! rules {
    ($($(#[doc = $doc:literal])* $name:ident, $id:literal, $next:literal;)*) => {
        /// A validation rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($(#[doc = $doc])* $name,)*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Rule] = &[$(Rule::$name),*];

            /// ID in output.
            pub fn id(self) -> &'static str {
                match self { $(Rule::$name => $id,)* }
            }

            /// How to fix a violation.
            pub fn next_step(self) -> &'static str {
                match self { $(Rule::$name => $next,)* }
            }
        }
    };
}

rules! {
    /// `manifests/` or `metadata/` is missing.
    Folders, "bundle-folders", "a bundle is a directory with manifests/ and metadata/; create one with `podium bundle generate`";
    /// No file of `metadata/` contains bundle annotations.
    Annotations, "annotations", "write metadata/annotations.yaml with operators.operatorframework.io.bundle.package.v1";
    /// The package name is empty.
    PackageName, "package-name", "set operators.operatorframework.io.bundle.package.v1 in metadata/annotations.yaml";
    /// A file cannot be decoded.
    Document, "document", "make it valid YAML with apiVersion and kind, or move it out of manifests/";
    /// `manifests/` has a subdirectory.
    Subfolder, "subfolder", "move its files up into manifests/";
    /// `manifests/` contains no object.
    NoObjects, "no-objects", "add a ClusterServiceVersion to manifests/";
    /// The ClusterServiceVersion is missing.
    NoCsv, "no-csv", "add a ClusterServiceVersion to manifests/";
    /// A field of the CSV has the wrong type.
    CsvShape, "csv-shape", "set the field to a value of the right type";
    /// `spec.version` of the CSV is invalid.
    CsvVersion, "csv-version", "write spec.version as a quoted semantic version";
    /// `spec.release` of the CSV is invalid.
    CsvRelease, "csv-release", "write spec.release as dot-separated identifiers";
    /// A field of a CRD has the wrong type.
    CrdShape, "crd-shape", "set the field to a value of the right type; use apiextensions.k8s.io/v1";
    /// The name of a CRD description in the CSV has no group.
    CrdName, "crd-name", "write it as PLURAL.GROUP";
    /// A CRD that the CSV owns is missing.
    OwnedCrd, "owned-crd", "add the CustomResourceDefinition to manifests/ or remove it from customresourcedefinitions.owned";
    /// A CRD is defined twice.
    DuplicateCrd, "duplicate-crd", "remove one of the two";
    /// The value of a property or dependency has the wrong type.
    Property, "property", "set a value that matches the property type";
    /// The `olm.properties` annotation of the CSV is malformed.
    PropertiesAnnotation, "properties-annotation", "write olm.properties as a JSON list of {\"type\", \"value\"}";
    /// `relatedImages` of the CSV is malformed.
    RelatedImages, "related-images", "write relatedImages as a list of {name, image}";
    /// Two deployments have the same name.
    DuplicateDeployment, "duplicate-deployment", "give every deployment in install.spec.deployments a unique name";
    /// The name of a deployment is invalid.
    DeploymentName, "deployment-name", "use lower-case letters, digits, '-' and '.'";
    /// A webhook refers to a missing deployment.
    WebhookDeployment, "webhook-deployment", "name one of install.spec.deployments in deploymentName";
    /// Two webhooks of a type have the same name.
    DuplicateWebhook, "duplicate-webhook", "give every webhook a unique generateName";
    /// The name of a webhook is invalid.
    WebhookName, "webhook-name", "use lower-case letters, digits, '-' and '.' in generateName, starting and ending with a letter or digit";
    /// A webhook intercepts a forbidden API group or resource.
    WebhookRule, "webhook-rule", "list the API groups and resources explicitly";
    /// A bundle with a conversion webhook supports other install modes than AllNamespaces.
    ConversionModes, "conversion-modes", "support AllNamespaces only, or convert without a webhook";
    /// Two conversion webhooks convert the same CRD.
    ConversionTwice, "conversion-twice", "name each CustomResourceDefinition in one conversion webhook only";
    /// A conversion webhook converts a CRD that the bundle does not own.
    ConversionForeign, "conversion-foreign", "list the CustomResourceDefinition in customresourcedefinitions.owned";
    /// A CRD with a conversion webhook preserves unknown fields.
    ConversionPreserve, "conversion-preserve", "set spec.preserveUnknownFields to false in the CustomResourceDefinition";
    /// The kind of an object is not supported.
    Kind, "kind", "only the kinds of registry+v1 can be installed; let the operator create other objects";
    /// The CSV owns an API service.
    ApiService, "api-service", "use CustomResourceDefinitions instead";
    /// The bundle has webhooks, but there is no certificate provider.
    Certificates, "certificates", "install with cert-manager or the OpenShift service CA (--certificates)";
    /// The bundle does not support AllNamespaces.
    AllNamespaces, "all-namespaces", "support the install mode AllNamespaces";
    /// The bundle supports no usable install mode.
    InstallModes, "install-modes", "support AllNamespaces, SingleNamespace or OwnNamespace";
    /// The install modes do not allow the target namespaces.
    TargetNamespaces, "target-namespaces", "choose a namespace that the install modes allow (--watch-namespace)";
}

/// A violation of a rule with its source position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Path in the bundle; empty for the bundle as a whole.
    pub file: String,
    /// Line, from 1; 0 for the whole file.
    pub line: u32,
    /// Violated rule.
    pub rule: Rule,
    /// Program that rejects the bundle.
    pub validator: Validator,
    /// Message.
    pub message: String,
}

impl Finding {
    pub(crate) fn new(
        validator: Validator,
        rule: Rule,
        location: (&str, u32),
        message: impl Into<String>,
    ) -> Self {
        Self { file: location.0.to_owned(), line: location.1, rule, validator, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.as_str(), self.line) {
            ("", _) => f.write_str("bundle")?,
            (file, 0) => f.write_str(file)?,
            (file, line) => write!(f, "{file}:{line}")?,
        }
        write!(f, ": {}: {} (refused by {})", self.rule.id(), self.message, self.validator.name())
    }
}
