//! Where records are kept: Secrets or ConfigMaps with Helm's labels.

use std::collections::BTreeMap;

use podium_objects::Resource;
use podium_runtime::client::{self, Client, Form};
use podium_sprig::encoding::base64_decode;
use podium_sprig::gotime::Location;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::record::{self, Release};

/// The labels that are Helm's own.
const SYSTEM: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];
/// How many records are asked for at the same time.
const AT_ONCE: usize = 16;

/// Why a release cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server says no, or nothing.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// There is no such release or revision.
    #[error("release: not found")]
    NotFound,
    /// A record is damaged.
    #[error("the record {key}: {source}")]
    Record {
        /// The name of the Secret or ConfigMap.
        key: String,
        /// What is wrong with it.
        #[source]
        source: record::Error,
    },
    /// A record is not where it should be.
    #[error("the record {0} has no field `release`")]
    Empty(String),
    /// A task was lost.
    #[error("reading the records was interrupted: {0}")]
    Interrupted(String),
    /// The name of the driver is not known.
    #[error("the driver {0:?} is not known: HELM_DRIVER is secret (the default) or configmap")]
    Driver(String),
}

/// What records are kept in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// `HELM_DRIVER=secret`.
    #[default]
    Secrets,
    /// `HELM_DRIVER=configmap`.
    ConfigMaps,
}

impl Driver {
    /// From the text of `HELM_DRIVER`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        match text {
            "" | "secret" | "secrets" => Ok(Driver::Secrets),
            "configmap" | "configmaps" => Ok(Driver::ConfigMaps),
            other => Err(Error::Driver(other.to_owned())),
        }
    }

    fn resource(self) -> Resource {
        match self {
            Driver::Secrets => Resource::core("Secret", "secrets", true),
            Driver::ConfigMaps => Resource::core("ConfigMap", "configmaps", true),
        }
    }
}

/// What is known of a record without reading it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name of the Secret or ConfigMap.
    pub key: String,
    /// Its namespace.
    pub namespace: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

impl Entry {
    fn read(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { key: text("/metadata/name"), namespace: text("/metadata/namespace"), labels: labels(object) }
    }

    /// The release's name.
    pub fn release(&self) -> &str {
        self.labels.get("name").map(String::as_str).unwrap_or_default()
    }

    /// The number of the revision.
    pub fn revision(&self) -> i64 {
        self.labels.get("version").and_then(|version| version.parse().ok()).unwrap_or(0)
    }
}

fn labels(object: &Value) -> BTreeMap<String, String> {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    let pairs = labels.into_iter().flatten().filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())));
    pairs.collect()
}

/// The releases of a namespace, or of all.
#[derive(Clone)]
pub struct Store {
    /// The cluster.
    pub client: Client,
    driver: Driver,
    /// `None` is all of them.
    namespace: Option<String>,
    local: Location,
}

impl Store {
    /// The releases of a namespace, or of all; times are seen from a place.
    pub fn new(client: Client, driver: Driver, namespace: Option<String>, local: Location) -> Self {
        Self { client, driver, namespace, local }
    }

    /// All records, without reading them.
    pub async fn index(&self) -> Result<Vec<Entry>, Error> {
        self.entries("owner=helm").await
    }

    async fn entries(&self, selector: &str) -> Result<Vec<Entry>, Error> {
        let resource = self.driver.resource();
        let found = self.client.list(&resource, self.namespace.as_deref(), selector, Form::Metadata).await?;
        Ok(found.iter().map(Entry::read).collect())
    }

    /// All revisions of a release, the oldest first.
    pub async fn history(&self, name: &str) -> Result<Vec<Release>, Error> {
        let entries = self.revisions(name).await?;
        self.read_all(entries).await.into_iter().collect()
    }

    /// A revision of a release, or its last one.
    pub async fn get(&self, name: &str, revision: Option<i64>) -> Result<Release, Error> {
        let mut entries = self.revisions(name).await?;
        if let Some(revision) = revision {
            entries.retain(|entry| entry.revision() == revision);
        }
        let entry = entries.pop().ok_or(Error::NotFound)?;
        let mut release = self.read(&entry).await?;
        if revision.is_some() {
            // As Helm does, which keeps them when it is asked for the last one.
            release.labels.retain(|key, _| !SYSTEM.contains(&key.as_str()));
        }
        Ok(release)
    }

    async fn revisions(&self, name: &str) -> Result<Vec<Entry>, Error> {
        let mut entries = self.entries(&format!("name={name},owner=helm")).await?;
        if entries.is_empty() {
            return Err(Error::NotFound);
        }
        entries.sort_by_key(Entry::revision);
        Ok(entries)
    }

    /// Reads records, several at a time; the answers are in the order of the entries.
    pub async fn read_all(&self, entries: Vec<Entry>) -> Vec<Result<Release, Error>> {
        let mut answers: Vec<Option<Result<Release, Error>>> = entries.iter().map(|_| None).collect();
        let mut waiting = entries.into_iter().enumerate();
        let mut tasks = JoinSet::new();
        loop {
            while tasks.len() < AT_ONCE
                && let Some((place, entry)) = waiting.next()
            {
                let store = self.clone();
                tasks.spawn(async move { (place, store.read(&entry).await) });
            }
            match tasks.join_next().await {
                None => break,
                Some(Ok((place, answer))) => {
                    if let Some(slot) = answers.get_mut(place) {
                        *slot = Some(answer);
                    }
                }
                Some(Err(error)) => return vec![Err(Error::Interrupted(error.to_string()))],
            }
        }
        answers.into_iter().flatten().collect()
    }

    /// Reads a record.
    pub async fn read(&self, entry: &Entry) -> Result<Release, Error> {
        let resource = self.driver.resource();
        let found = self.client.get(&resource, Some(&entry.namespace), &entry.key).await?;
        let object = found.ok_or(Error::NotFound)?;
        let wrong = |source| Error::Record { key: entry.key.clone(), source };
        let text = object.pointer("/data/release").and_then(Value::as_str);
        let text = text.ok_or_else(|| Error::Empty(entry.key.clone()))?.as_bytes();
        let mut release = match self.driver {
            // The API wraps the data of Secrets once more.
            Driver::Secrets => {
                let inner = base64_decode(text).map_err(|at| wrong(record::Error::Base64(at)))?;
                Release::decode(&inner, &self.local)
            }
            Driver::ConfigMaps => Release::decode(text, &self.local),
        }
        .map_err(wrong)?;
        release.labels = labels(&object);
        Ok(release)
    }
}
