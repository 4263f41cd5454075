//! Checks before an install: valid objects, known kinds, ownership.

use podium_client::client;
use podium_client::{Client, Discovery};
use podium_meta::Resource;

use crate::object_ref::{ObjectRef, object_refs};
use crate::ownership::ReleaseRef;

/// Why objects cannot be installed. The messages are Helm's.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Documents are not objects of this cluster.
    #[error("unable to build kubernetes objects from release manifest: {}", join_errors(.0))]
    InvalidManifest(Vec<String>),
    /// The object exists and is not owned by the release.
    #[error("{object_name} exists and cannot be imported into the current release: {reason}")]
    NotOwned {
        /// The object.
        object_name: String,
        /// The ownership error.
        reason: String,
    },
    /// An object has both a name and a generateName.
    #[error("metadata.name and metadata.generateName cannot both be set")]
    NameAndGenerateName,
    /// An object has neither a name nor a generateName.
    #[error("could not get information about the resource {0}: resource name may not be empty")]
    MissingName(String),
    /// Reading the live object failed.
    #[error("could not get information about the resource {object_name}: {source}")]
    Lookup {
        /// The object.
        object_name: String,
        /// The API error.
        #[source]
        source: client::Error,
    },
}

/// Joins errors as Go's `utilerrors.Aggregate` does.
fn join_errors(errors: &[String]) -> String {
    match errors {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// Why a document cannot be built into an object of the cluster.
pub(crate) fn build_error(object: &ObjectRef, discovery: &Discovery) -> Option<String> {
    let kind = &object.kind;
    let missing: Vec<String> = [("apiVersion", kind.version.is_empty()), ("kind", kind.kind.is_empty())]
        .into_iter()
        .filter(|(_, missing)| *missing)
        .map(|(field, _)| format!("{field} not set"))
        .collect();
    if !missing.is_empty() {
        return Some(format!("error validating \"\": error validating data: {}", join_errors(&missing)));
    }
    discovery.find(kind).is_none().then(|| {
        format!(
            "resource mapping not found for name: {:?} namespace: {:?} from \"\": no matches for kind {:?} in version {:?}\n\
             ensure CRDs are installed first",
            object.name,
            object.namespace.as_deref().unwrap_or_default(),
            kind.kind,
            kind.api_version()
        )
    })
}

/// Options of [`check_install`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// The release exists, so its objects do too: skips the ownership check.
    pub upgrade: bool,
    /// Allows `generateName`, which Helm 3 does not.
    pub generated_names: bool,
}

/// Checks that the cluster serves all kinds and, before an install, that no object exists that the release does not
/// own.
pub async fn check_install(
    client: &Client,
    discovery: &Discovery,
    manifest: &str,
    release: &ReleaseRef,
    options: CheckOptions,
) -> Result<(), Error> {
    let objects = object_refs(manifest);
    let errors: Vec<String> = objects.iter().filter_map(|object| build_error(object, discovery)).collect();
    if !errors.is_empty() {
        return Err(Error::InvalidManifest(errors));
    }
    if options.upgrade {
        return Ok(());
    }
    for object in &objects {
        if let Some(resource) = discovery.find(&object.kind) {
            check_ownership(client, resource, object, release, options.generated_names).await?;
        }
    }
    Ok(())
}

/// Checks that an object can be created, or is owned by the release already.
async fn check_ownership(
    client: &Client,
    resource: &Resource,
    object: &ObjectRef,
    release: &ReleaseRef,
    generated_names: bool,
) -> Result<(), Error> {
    let namespace = object.namespace.as_deref().unwrap_or(&release.namespace);
    let shown = if resource.namespaced { namespace } else { "" };
    let object_name = format!("{} {:?} in namespace {shown:?}", object.kind.kind, object.name);
    let generated = generated_names && !object.generate_name.is_empty();
    match (object.name.is_empty(), generated) {
        (true, false) => return Err(Error::MissingName(object_name)),
        // The API server generates a unique name.
        (true, true) => return Ok(()),
        (false, true) => return Err(Error::NameAndGenerateName),
        (false, false) => {}
    }
    match client.get(resource, Some(namespace), &object.name).await {
        Ok(None) => Ok(()),
        Ok(Some(found)) => match release.ownership_error(&found) {
            Some(reason) => Err(Error::NotOwned { object_name, reason }),
            None => Ok(()),
        },
        Err(source) => Err(Error::Lookup { object_name, source }),
    }
}
