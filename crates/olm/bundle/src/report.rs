//! What is wrong with a bundle: one list, whoever would have refused it.

use std::fmt;

/// Who refuses a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Validator {
    /// `opm render`, which puts bundles in catalogs.
    Opm,
    /// The lifecycle controller, which installs them.
    Controller,
}

impl Validator {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Validator::Opm => "opm",
            Validator::Controller => "the lifecycle controller",
        }
    }
}

macro_rules! rules {
    ($($(#[doc = $doc:literal])* $name:ident, $id:literal, $next:literal;)*) => {
        /// A rule that a bundle breaks.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($(#[doc = $doc])* $name,)*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Rule] = &[$(Rule::$name),*];

            /// Its name in reports.
            pub fn id(self) -> &'static str {
                match self { $(Rule::$name => $id,)* }
            }

            /// What to do about it.
            pub fn next_step(self) -> &'static str {
                match self { $(Rule::$name => $next,)* }
            }
        }
    };
}

rules! {
    /// There is no `manifests/` or no `metadata/`.
    Folders, "bundle-folders", "a bundle is a folder with manifests/ and metadata/; make one with `podium bundle generate`";
    /// No file of `metadata/` names the package.
    Annotations, "annotations", "write metadata/annotations.yaml with operators.operatorframework.io.bundle.package.v1";
    /// The package has no name.
    PackageName, "package-name", "set operators.operatorframework.io.bundle.package.v1 in metadata/annotations.yaml";
    /// A file cannot be read.
    Document, "document", "make it valid YAML with apiVersion and kind, or move it out of manifests/";
    /// There is a folder in `manifests/`.
    Subfolder, "subfolder", "move its files up into manifests/";
    /// There is no object in `manifests/`.
    NoObjects, "no-objects", "put a ClusterServiceVersion into manifests/";
    /// There is no ClusterServiceVersion.
    NoCsv, "no-csv", "put a ClusterServiceVersion into manifests/";
    /// The ClusterServiceVersion has values of the wrong type.
    CsvShape, "csv-shape", "give the field a value of its type";
    /// The version of the ClusterServiceVersion is none.
    CsvVersion, "csv-version", "write spec.version as a semantic version in quotation marks";
    /// The release of the ClusterServiceVersion is none.
    CsvRelease, "csv-release", "write spec.release as identifiers with dots between them";
    /// A CustomResourceDefinition has values of the wrong type.
    CrdShape, "crd-shape", "give the field a value of its type; write new definitions as apiextensions.k8s.io/v1";
    /// The name of a CustomResourceDefinition in the ClusterServiceVersion has no group.
    CrdName, "crd-name", "write it as PLURAL.GROUP";
    /// A CustomResourceDefinition that the ClusterServiceVersion owns is not there.
    OwnedCrd, "owned-crd", "put the CustomResourceDefinition into manifests/ or take it out of customresourcedefinitions.owned";
    /// A CustomResourceDefinition is there twice.
    DuplicateCrd, "duplicate-crd", "keep one of the two";
    /// A property or dependency has a value of the wrong type.
    Property, "property", "give it the value that its type has";
    /// The properties in the annotation of the ClusterServiceVersion are no JSON.
    PropertiesAnnotation, "properties-annotation", "write olm.properties as a JSON list of {\"type\", \"value\"}";
    /// `relatedImages` are not what they should be.
    RelatedImages, "related-images", "write relatedImages as a list of {name, image}";
    /// Two Deployments have the same name.
    DuplicateDeployment, "duplicate-deployment", "give each of install.spec.deployments a name of its own";
    /// The name of a Deployment is none.
    DeploymentName, "deployment-name", "use lower-case letters, digits, '-' and '.'";
    /// A webhook is served by no Deployment.
    WebhookDeployment, "webhook-deployment", "name one of install.spec.deployments in deploymentName";
    /// Two webhooks of a type have the same name.
    DuplicateWebhook, "duplicate-webhook", "give each webhook a generateName of its own";
    /// The name of a webhook is none.
    WebhookName, "webhook-name", "use lower-case letters, digits, '-' and '.' in generateName, and none of the signs at its ends";
    /// A webhook asks for what it must not see.
    WebhookRule, "webhook-rule", "name the API groups and resources that it is for";
    /// A conversion webhook in a bundle that can be confined to namespaces.
    ConversionModes, "conversion-modes", "support AllNamespaces only, or convert without a webhook";
    /// Two conversion webhooks are for the same definition.
    ConversionTwice, "conversion-twice", "name each CustomResourceDefinition in one conversion webhook only";
    /// A conversion webhook is for a definition that the bundle does not own.
    ConversionForeign, "conversion-foreign", "list the CustomResourceDefinition in customresourcedefinitions.owned";
    /// A definition with a conversion webhook keeps unknown fields.
    ConversionPreserve, "conversion-preserve", "set spec.preserveUnknownFields to false in the CustomResourceDefinition";
    /// An object of a kind that bundles cannot have.
    Kind, "kind", "only the kinds of registry+v1 can be installed; let the operator make such objects";
    /// It brings an API server.
    ApiService, "api-service", "serve the kinds by CustomResourceDefinitions";
    /// Webhooks need certificates, which nobody makes.
    Certificates, "certificates", "install where cert-manager or the OpenShift service CA makes certificates (--certificates)";
    /// It cannot watch all namespaces.
    AllNamespaces, "all-namespaces", "support the install mode AllNamespaces";
    /// It has no install mode that is supported at all.
    InstallModes, "install-modes", "support AllNamespaces, SingleNamespace or OwnNamespace";
    /// The namespaces to watch are not what the install modes allow.
    TargetNamespaces, "target-namespaces", "choose a namespace that the install modes allow (--watch-namespace)";
}

/// Something that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The path of the file in the bundle; empty if it is about none.
    pub file: String,
    /// The line, from 1; 0 if it is about the whole file.
    pub line: u32,
    /// The rule that is broken.
    pub rule: Rule,
    /// Who refuses the bundle for it.
    pub validator: Validator,
    /// What is wrong.
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
