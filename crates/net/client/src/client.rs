//! The client, its errors, and the requests get, list and apply.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::{BodyExt, Limited};
use podium_meta::{Resource, Status};
use serde_json::Value;

use crate::config::{self, ClientConfig};
use crate::connection::{self, Purpose};
use crate::request::RequestCounter;
use crate::root_cause::root_cause;

/// Limit for a response body: a page of the largest objects that the API server stores.
const MAX_RESPONSE_BYTES: usize = 1 << 30;
/// Objects per page of a list.
const PAGE_LIMIT: usize = 500;

/// Representation that the client requests from the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    /// The whole object.
    Full,
    /// `PartialObjectMetadata`: the metadata without spec and status.
    Metadata,
    /// `Table`: the server-side printed columns.
    Table,
}

impl Representation {
    /// Value of the `Accept` header for an object or a list.
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

/// Options of server-side apply.
#[derive(Clone, Copy, Debug)]
pub struct ApplyOptions<'a> {
    /// Field manager that owns the applied fields.
    pub field_manager: &'a str,
    /// Takes ownership of conflicting fields from other field managers.
    pub force: bool,
    /// Runs admission and validation without storing the result.
    pub dry_run: bool,
}

/// Failure of a request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client configuration cannot be loaded.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The connection failed or timed out.
    #[error("kubernetes cluster unreachable: {url}: {reason}")]
    Unreachable {
        /// URL of the API server.
        url: String,
        /// Root cause.
        reason: String,
    },
    /// The API server rejected the request.
    #[error("{0}")]
    Api(Status),
    /// The response is not what the request asked for.
    #[error("{path}: the server's answer cannot be read: {reason}")]
    InvalidResponse {
        /// Path of the request.
        path: String,
        /// Why the response cannot be decoded.
        reason: String,
    },
}

impl Error {
    /// Status that the API server rejected the request with.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Error::Api(status) => Some(status),
            _ => None,
        }
    }
}

/// Client of one cluster, authenticated as one user. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    requests: kube::Client,
    pub(crate) watches: kube::Client,
    pub(crate) url: String,
    /// Representation requested for the response to a write.
    pub(crate) write_response: Representation,
}

impl Client {
    /// Loads the configuration and builds a client; connects on the first request.
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

    /// Clone that requests only metadata in the response to a write: less to encode, to send and to parse.
    pub fn with_metadata_responses(&self) -> Self {
        Self { write_response: Representation::Metadata, ..self.clone() }
    }

    /// Default namespace of the configuration.
    pub fn namespace(&self) -> &str {
        self.requests.default_namespace()
    }

    /// Reads an object; `None` if it does not exist.
    pub async fn get(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, Error> {
        self.get_as(resource, namespace, name, Representation::Full).await
    }

    /// Reads an object in a representation; `None` if it does not exist.
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

    /// Lists all objects that match a label selector, page by page.
    pub async fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &str,
        representation: Representation,
    ) -> Result<Vec<Value>, Error> {
        self.list_not_older_than(resource, namespace, selector, representation, 0).await
    }

    /// Lists objects from a state at least as new as `resource_version`, because a replica's watch cache may lag behind
    /// the last write. Zero means no minimum.
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
                _ => return Err(Error::InvalidResponse { path, reason: "it is not a list".to_owned() }),
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str).unwrap_or_default() {
                "" => return Ok(items),
                token => next = format!("&continue={}", podium_meta::kind::escape(token)),
            }
        }
    }

    /// Lists all objects in one request and returns the list object, with apiVersion and kind set on every item.
    pub async fn list_objects(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        query: &str,
    ) -> Result<Value, Error> {
        let path = format!("{}{query}", resource.collection(namespace));
        let mut list = self.get_path(&path, &Representation::Full.accept(true)).await?;
        for item in list.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
            // The API server omits apiVersion and kind on list items.
            if let Some(fields) = item.as_object_mut() {
                fields.insert("apiVersion".to_owned(), resource.kind.api_version().into());
                fields.insert("kind".to_owned(), resource.kind.kind.as_str().into());
            }
        }
        Ok(list)
    }

    /// Applies an object with server-side apply and returns the merged result.
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

    /// Reads the JSON document at a path, which may have a query.
    pub async fn get_path(&self, path: &str, accept: &str) -> Result<Value, Error> {
        self.send(Method::GET, path, accept, None).await
    }

    /// Reads the response body at a path without decoding it, such as logs or metrics; has no response timeout.
    pub async fn get_raw(&self, path: &str) -> Result<Vec<u8>, Error> {
        self.with_timeout(self.send_raw(Method::GET, path, "*/*", None)).await
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
