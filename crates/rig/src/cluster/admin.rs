//! A blocking client of the cluster admin: what a test does to a cluster with `kubectl`, without `kubectl`.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::Method;
use podium_client::client::Representation;
use podium_client::write::PropagationPolicy;
use podium_client::{Client, ClientConfig};
use podium_deploy::object::parse_manifest;
use podium_meta::kind::escape;
use podium_meta::{GroupVersionKind, Resource};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::Error;

const DISCOVERY: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json";
/// The query parameter with which unknown fields are refused.
const STRICT: &str = "&fieldValidation=Strict";
/// How long a server may take to say that it is ready.
const ANSWER: Duration = Duration::from_secs(5);
/// The field manager of writes.
const MANAGER: &str = "kubectl";

/// The client. Resources are named as on kubectl's command line: `cm`, `deployment`, `shows.faults.rig.podium`.
pub struct Admin {
    kubeconfig: PathBuf,
    /// Made by the first request: the kubeconfig is written when the server is up.
    client: OnceLock<Client>,
    /// The resources of the last discovery, each with all of its names.
    resources: Mutex<Vec<(Vec<String>, Resource)>>,
}

impl Admin {
    /// The client of the user of a kubeconfig.
    pub(super) fn new(kubeconfig: PathBuf) -> Self {
        Self { kubeconfig, client: OnceLock::new(), resources: Mutex::default() }
    }

    /// Runs requests of the underlying client to their end; may also be called inside a tokio runtime.
    pub fn run<T: Send>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<T, podium_client::Error> + Send,
    ) -> Result<T, Error> {
        // A runtime must not block inside another one: hence the thread.
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                runtime()?.block_on(async {
                    let client = match self.client.get() {
                        Some(client) => client,
                        None => {
                            let kubeconfig = Some(self.kubeconfig.clone());
                            let client =
                                Client::new(&ClientConfig { kubeconfig, ..ClientConfig::default() }).await?;
                            self.client.get_or_init(|| client)
                        }
                    };
                    Ok(work(client).await?)
                })
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Whether the server is ready. What holds its port instead may accept a connection and never answer.
    pub(super) fn is_ready(&self) -> bool {
        let answer = self.run(async |client| Ok(timeout(ANSWER, client.get_raw("/readyz")).await));
        matches!(answer, Ok(Ok(Ok(_))))
    }

    /// The text at a path, such as `/version`.
    pub fn raw(&self, path: &str) -> Result<String, Error> {
        let text = self.run(async |client| client.get_raw(path).await)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The resource of a name: plural, singular, kind or short name, perhaps with a group.
    pub fn resource(&self, name: &str) -> Result<Resource, Error> {
        let lower = name.to_lowercase();
        let (plain, group) = lower.split_once('.').map_or((lower.as_str(), None), |(n, g)| (n, Some(g)));
        for discovered in [false, true] {
            if discovered {
                self.discover()?;
            }
            let known = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
            let same = |(names, resource): &&(Vec<String>, Resource)| {
                names.iter().any(|known| known == plain) && group.is_none_or(|g| resource.kind.group == g)
            };
            if let Some((_, resource)) = known.iter().find(same) {
                return Ok(resource.clone());
            }
        }
        Err(Error::UnknownResource(name.to_owned()))
    }

    fn discover(&self) -> Result<(), Error> {
        let mut all = Vec::new();
        for path in ["/api", "/apis"] {
            let answer = self.run(async |client| client.get_path(path, DISCOVERY).await)?;
            for group in list(&answer["items"]) {
                for version in list(&group["versions"]) {
                    all.extend(list(&version["resources"]).map(|found| named(group, version, found)));
                }
            }
        }
        *self.resources.lock().unwrap_or_else(PoisonError::into_inner) = all;
        Ok(())
    }

    /// An object, if it exists.
    pub fn find(&self, resource: &str, namespace: &str, name: &str) -> Result<Option<Value>, Error> {
        let resource = self.resource(resource)?;
        match self.run(async |client| client.get(&resource, Some(namespace), name).await) {
            // A resource that discovery listed earlier, and whose CRD is gone.
            Err(error) if error.code() == Some(404) => Ok(None),
            answer => answer,
        }
    }

    /// The objects of a namespace (or of all, if it is empty) that a label selector chooses, each with its apiVersion and
    /// kind.
    pub fn list(&self, resource: &str, namespace: &str, selector: &str) -> Result<Vec<Value>, Error> {
        let resource = self.resource(resource)?;
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        let mut all =
            self.run(async |client| client.list(&resource, namespace, selector, Representation::Full).await)?;
        for object in &mut all {
            object["apiVersion"] = resource.kind.api_version().into();
            object["kind"] = resource.kind.kind.as_str().into();
        }
        Ok(all)
    }

    /// Creates an object, in this namespace unless it names another.
    pub fn create(&self, namespace: &str, object: &Value) -> Result<Value, Error> {
        self.create_with(namespace, object, "")
    }

    /// Creates an object with more query parameters, such as `&dryRun=All`.
    pub fn create_with(&self, namespace: &str, object: &Value, query: &str) -> Result<Value, Error> {
        let (resource, namespace, _) = self.locate(namespace, object)?;
        let path = format!("{}?fieldManager={MANAGER}{query}", resource.collection(Some(&namespace)));
        let body = object.to_string().into_bytes();
        self.run(async |client| client.request(Method::POST, &path, Some((JSON, body))).await)
    }

    /// Creates the objects of a YAML text, or merges them into those that exist, as `kubectl apply` does. Unknown fields
    /// are refused.
    pub fn apply(&self, namespace: &str, text: &str) -> Result<(), Error> {
        for object in parse_manifest(text).map_err(|error| Error::Template(error.to_string()))? {
            match self.create_with(namespace, &object.body, STRICT) {
                Err(error) if error.code() == Some(409) => {
                    let (resource, namespace, name) = self.locate(namespace, &object.body)?;
                    let path = resource.object(Some(&namespace), &name);
                    let path = format!("{path}?fieldManager={MANAGER}{STRICT}");
                    let body = Some((MERGE, object.body.to_string().into_bytes()));
                    self.run(async |client| client.request(Method::PATCH, &path, body).await)?;
                }
                answer => drop(answer?),
            }
        }
        Ok(())
    }

    /// Merges a patch into an object; null removes a field.
    pub fn merge(&self, resource: &str, namespace: &str, name: &str, patch: &Value) -> Result<(), Error> {
        let resource = self.resource(resource)?;
        self.run(async |client| client.merge_patch(&resource, Some(namespace), name, patch, MANAGER).await)
            .map(drop)
    }

    /// Deletes an object; one that does not exist is no error.
    pub fn delete(&self, resource: &str, namespace: &str, name: &str) -> Result<(), Error> {
        let resource = self.resource(resource)?;
        let how = PropagationPolicy::Background;
        self.run(async |client| client.delete(&resource, Some(namespace), name, None, how).await).map(drop)
    }

    /// Sets the replicas through the scale subresource, as `kubectl scale` does.
    pub fn scale(&self, resource: &str, namespace: &str, name: &str, replicas: usize) -> Result<(), Error> {
        let path = self.resource(resource)?.object(Some(namespace), name);
        let path = format!("{path}/scale?fieldManager={MANAGER}");
        let body = json!({"spec": {"replicas": replicas}}).to_string().into_bytes();
        self.run(async |client| client.request(Method::PATCH, &path, Some((MERGE, body))).await).map(drop)
    }

    /// A token of a service account, as `kubectl create token` prints it.
    pub fn token(&self, namespace: &str, account: &str) -> Result<String, Error> {
        let path =
            format!("/api/v1/namespaces/{}/serviceaccounts/{}/token", escape(namespace), escape(account));
        let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let body = body.to_string().into_bytes();
        let answer =
            self.run(async |client| client.request(Method::POST, &path, Some((JSON, body))).await)?;
        Ok(answer["status"]["token"].as_str().unwrap_or_default().to_owned())
    }

    /// The resource, namespace and name of an object.
    fn locate(&self, namespace: &str, object: &Value) -> Result<(Resource, String, String), Error> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let kind = GroupVersionKind::new(text("/apiVersion"), text("/kind"));
        let mut found = self.resource(&format!("{}.{}", kind.kind, kind.group))?;
        found.kind = kind;
        let namespace = Some(text("/metadata/namespace")).filter(|own| !own.is_empty()).unwrap_or(namespace);
        Ok((found, namespace.to_owned(), text("/metadata/name").to_owned()))
    }
}

/// A resource of discovery with its names.
fn named(group: &Value, version: &Value, found: &Value) -> (Vec<String>, Resource) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = GroupVersionKind {
        group: text(&group["metadata"]["name"]),
        version: text(&version["version"]),
        kind: text(&found["responseKind"]["kind"]),
    };
    let (plural, namespaced) = (text(&found["resource"]), found["scope"] == "Namespaced");
    let mut names = vec![plural.clone(), text(&found["singularResource"]), kind.kind.to_lowercase()];
    names.extend(list(&found["shortNames"]).map(text));
    (names, Resource { kind, plural, namespaced })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The runtime of all admins; it lives as long as the process, since a runtime must not be dropped inside another.
fn runtime() -> Result<&'static Runtime, Error> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let make = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let made = RUNTIME.get_or_init(|| make().map_err(|error| error.to_string())).as_ref();
    made.map_err(|reason| Error::Background(reason.clone()))
}
