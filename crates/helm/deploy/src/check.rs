//! What stands in the way of an install.

use podium_client::client;
use podium_client::{Client, Discovery};
use podium_meta::Resource;

use crate::named::{Named, named};
use crate::owner::Owner;

/// Why objects cannot be installed. The texts are Helm's.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Some documents are no objects of this cluster.
    #[error("unable to build kubernetes objects from release manifest: {}", list(.0))]
    Unfit(Vec<String>),
    /// Somebody else has an object of that name.
    #[error("{what} exists and cannot be imported into the current release: {why}")]
    Taken {
        /// The object.
        what: String,
        /// Whose it is not.
        why: String,
    },
    /// The server cannot be told a name and make one up.
    #[error("metadata.name and metadata.generateName cannot both be set")]
    TwoNames,
    /// An object has no name at all.
    #[error("could not get information about the resource {0}: resource name may not be empty")]
    NoName(String),
    /// It cannot be seen whether somebody has it.
    #[error("could not get information about the resource {what}: {source}")]
    Unseen {
        /// The object.
        what: String,
        /// Why.
        #[source]
        source: client::Error,
    },
}

/// Several errors as Go joins them.
fn list(all: &[String]) -> String {
    match all {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// Why a document is no object of a cluster.
pub(crate) fn unfit(object: &Named, discovery: &Discovery) -> Option<String> {
    let kind = &object.kind;
    let missing: Vec<String> = [("apiVersion", kind.version.is_empty()), ("kind", kind.kind.is_empty())]
        .into_iter()
        .filter(|(_, missing)| *missing)
        .map(|(field, _)| format!("{field} not set"))
        .collect();
    if !missing.is_empty() {
        return Some(format!("error validating \"\": error validating data: {}", list(&missing)));
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

/// How an install is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The objects are there already: nothing is in the way.
    pub upgrade: bool,
    /// Names may be left to the server. Helm 3 does not know that.
    pub generated_names: bool,
}

/// Checks that the cluster knows all kinds, and that no object of another owner is in the way; the latter not before
/// an upgrade, whose objects are there.
pub async fn install(
    client: &Client,
    discovery: &Discovery,
    manifest: &str,
    owner: &Owner,
    rules: Rules,
) -> Result<(), Error> {
    let objects = named(manifest);
    let unfit: Vec<String> = objects.iter().filter_map(|object| unfit(object, discovery)).collect();
    if !unfit.is_empty() {
        return Err(Error::Unfit(unfit));
    }
    if rules.upgrade {
        return Ok(());
    }
    for object in &objects {
        if let Some(resource) = discovery.find(&object.kind) {
            is_free(client, resource, object, owner, rules.generated_names).await?;
        }
    }
    Ok(())
}

/// Whether an object can be created, or is the owner's already.
async fn is_free(
    client: &Client,
    resource: &Resource,
    object: &Named,
    owner: &Owner,
    generated_names: bool,
) -> Result<(), Error> {
    let place = object.namespace.as_deref().unwrap_or(&owner.namespace);
    let shown = if resource.namespaced { place } else { "" };
    let what = format!("{} {:?} in namespace {shown:?}", object.kind.kind, object.name);
    let generated = generated_names && !object.generate_name.is_empty();
    match (object.name.is_empty(), generated) {
        (true, false) => return Err(Error::NoName(what)),
        // The server makes up a name that nobody has.
        (true, true) => return Ok(()),
        (false, true) => return Err(Error::TwoNames),
        (false, false) => {}
    }
    match client.get(resource, Some(place), &object.name).await {
        Ok(None) => Ok(()),
        Ok(Some(found)) => match owner.objection(&found) {
            Some(why) => Err(Error::Taken { what, why }),
            None => Ok(()),
        },
        Err(source) => Err(Error::Unseen { what, source }),
    }
}
