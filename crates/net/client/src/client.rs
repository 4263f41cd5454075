//! Requests to a server, and their answers.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::{BodyExt, Limited};
use podium_meta::{Resource, Status};
use serde_json::Value;

use crate::config::{self, ClientConfig};
use crate::connection::{self, Purpose};
use crate::request::RequestCounter;
use crate::root_cause::root_cause;

/// The largest answer that is read: a page of the largest objects that a server stores.
const MAX_RESPONSE_BYTES: usize = 1 << 30;
/// How many objects a page of a list has.
const PAGE_LIMIT: usize = 500;

/// The forms in which a server can give objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    /// Whole.
    Full,
    /// Names, labels and annotations only.
    Metadata,
    /// A table for people.
    Table,
}

impl Representation {
    /// The media type to ask for.
    pub fn accept(self, list: bool) -> String {
        let as_kind = |kind: &str| format!("application/json;as={kind};g=meta.k8s.io;v=v1,application/json");
        match self {
            Representation::Full => "application/json".to_owned(),
            Representation::Metadata if list => as_kind("PartialObjectMetadataList"),
            Representation::Metadata => as_kind("PartialObjectMetadata"),
            Representation::Table => as_kind("Table"),
        }
    }
}

/// How an object is applied.
#[derive(Clone, Copy, Debug)]
pub struct ApplyOptions<'a> {
    /// In whose name.
    pub field_manager: &'a str,
    /// Whether fields are taken from others who want another value.
    pub force: bool,
    /// Whether the server only says what would become of it.
    pub dry_run: bool,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not known whom to ask.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// Nobody answers.
    #[error("kubernetes cluster unreachable: {url}: {reason}")]
    Unreachable {
        /// Where it was looked for.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// The server refuses.
    #[error("{0}")]
    Api(Status),
    /// The server answers with something else than what was asked for.
    #[error("{path}: the server's answer cannot be read: {reason}")]
    InvalidResponse {
        /// What was asked for.
        path: String,
        /// What is wrong with the answer.
        reason: String,
    },
}

impl Error {
    /// What the server said when it refused.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Error::Api(status) => Some(status),
            _ => None,
        }
    }
}

/// A connection to a cluster, as one user.
#[derive(Clone)]
pub struct Client {
    requests: kube::Client,
    pub(crate) watches: kube::Client,
    pub(crate) url: String,
    /// How writes are answered.
    pub(crate) write_response: Representation,
}

impl Client {
    /// Prepares to talk to a cluster; nothing is sent yet.
    pub async fn new(config: &ClientConfig) -> Result<Self, Error> {
        Self::from_kube_config(config.load().await?)
    }

    pub(crate) fn from_kube_config(config: kube::Config) -> Result<Self, Error> {
        let url = config.cluster_url.to_string();
        let client = |config, purpose| {
            let unreachable =
                |e: tower::BoxError| Error::Unreachable { url: url.clone(), reason: root_cause(&*e) };
            connection::build_client(config, purpose).map_err(unreachable)
        };
        let requests = client(config.clone(), Purpose::Requests)?;
        Ok(Self {
            requests,
            watches: client(config, Purpose::Watches)?,
            url,
            write_response: Representation::Full,
        })
    }

    /// The same, but what is written is answered with its metadata only: less to write, to send and to read.
    pub fn with_metadata_responses(&self) -> Self {
        Self { write_response: Representation::Metadata, ..self.clone() }
    }

    /// The namespace of whoever does not say otherwise.
    pub fn namespace(&self) -> &str {
        self.requests.default_namespace()
    }

    /// The object at an address, or nothing.
    pub async fn get(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, Error> {
        self.get_as(resource, namespace, name, Representation::Full).await
    }

    /// The object at an address in some form, or nothing.
    pub async fn get_as(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        representation: Representation,
    ) -> Result<Option<Value>, Error> {
        match self.get_path(&resource.object(namespace, name), &representation.accept(false)).await {
            Ok(value) => Ok(Some(value)),
            Err(Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All objects of a kind that a label selector chooses, page by page.
    pub async fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &str,
        representation: Representation,
    ) -> Result<Vec<Value>, Error> {
        self.list_not_older_than(resource, namespace, selector, representation, 0).await
    }

    /// The same, from a state that has everything up to a version: what answers may be behind what was written.
    pub async fn list_not_older_than(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &str,
        representation: Representation,
        resource_version: u64,
    ) -> Result<Vec<Value>, Error> {
        let collection = resource.collection(namespace);
        let selector = podium_meta::kind::escape(selector);
        let mut items = Vec::new();
        let mut next = match resource_version {
            0 => String::new(),
            resource_version => {
                format!("&resourceVersion={resource_version}&resourceVersionMatch=NotOlderThan")
            }
        };
        loop {
            let path = format!("{collection}?labelSelector={selector}&limit={PAGE_LIMIT}{next}");
            let mut page = self.get_path(&path, &representation.accept(true)).await?;
            match page.get_mut("items").map(Value::take) {
                Some(Value::Array(more)) => items.extend(more),
                Some(Value::Null) => {}
                _ => return Err(Error::InvalidResponse { path, reason: "it is no list".to_owned() }),
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str).unwrap_or_default() {
                "" => return Ok(items),
                token => next = format!("&continue={}", podium_meta::kind::escape(token)),
            }
        }
    }

    /// All objects of a kind as the one list that a server gives, each with its kind.
    pub async fn list_objects(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        query: &str,
    ) -> Result<Value, Error> {
        let path = format!("{}{query}", resource.collection(namespace));
        let mut list = self.get_path(&path, &Representation::Full.accept(true)).await?;
        for item in list.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
            // The items of a list do not repeat what they are.
            if let Some(fields) = item.as_object_mut() {
                fields.insert("apiVersion".to_owned(), resource.kind.api_version().into());
                fields.insert("kind".to_owned(), resource.kind.kind.as_str().into());
            }
        }
        Ok(list)
    }

    /// Applies an object; the server merges it with what is there, and gives the result.
    pub async fn apply(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
        body: &Value,
        options: ApplyOptions<'_>,
    ) -> Result<Value, Error> {
        let ApplyOptions { field_manager, force, dry_run } = options;
        let dry_run = if dry_run { "&dryRun=All" } else { "" };
        let field_manager = podium_meta::kind::escape(field_manager);
        let object = resource.object(namespace, name);
        let path =
            format!("{object}?fieldManager={field_manager}&force={force}&fieldValidation=Strict{dry_run}");
        let body = Some(("application/apply-patch+yaml", body.to_string().into_bytes()));
        self.send(Method::PATCH, &path, &self.write_response.accept(false), body).await
    }

    /// What is at a path, which may have a query.
    pub async fn get_path(&self, path: &str, accept: &str) -> Result<Value, Error> {
        self.send(Method::GET, path, accept, None).await
    }

    /// What is at a path, as text.
    pub async fn get_raw(&self, path: &str) -> Result<Vec<u8>, Error> {
        self.send_raw(Method::GET, path, "*/*", None).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<Value, Error> {
        let bytes = self.with_timeout(self.send_raw(method, path, accept, body)).await?;
        serde_json::from_slice(&bytes)
            .map_err(|e| Error::InvalidResponse { path: path.to_owned(), reason: e.to_string() })
    }

    async fn send_raw(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<Vec<u8>, Error> {
        let invalid_response = |reason: String| Error::InvalidResponse { path: path.to_owned(), reason };
        let counter = RequestCounter::start(&method);
        let mut request = Request::builder().method(method).uri(path).header(ACCEPT, accept);
        let body = match body {
            Some((content_type, bytes)) => {
                request = request.header(CONTENT_TYPE, content_type);
                bytes
            }
            None => Vec::new(),
        };
        let request =
            request.body(kube::client::Body::from(body)).map_err(|e| invalid_response(e.to_string()))?;
        let unreachable =
            |error: kube::Error| Error::Unreachable { url: self.url.clone(), reason: root_cause(&error) };
        let response = self.requests.send(request).await.map_err(unreachable)?;
        let status = response.status();
        counter.finish(status.as_u16());
        let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES);
        let bytes = body.collect().await.map_err(|e| invalid_response(e.to_string()))?.to_bytes();
        if !status.is_success() {
            return Err(Error::Api(Status::read(status.as_u16(), &bytes)));
        }
        Ok(bytes.into())
    }
}
