//! Requests of the stories, and controllers that can be killed.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use http::Method;
use podium_client::{Client, ClientConfig, Error};
use podium_controller::log::{Level, Log, Style};
use podium_controllers::{Claims, Options};
use podium_rig::cluster::Cluster;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::sleep;

const PATIENCE: Duration = Duration::from_secs(60);

/// An API server.
#[derive(Clone)]
pub struct Api {
    pub client: Client,
    /// Whether its controllers are killed now and then.
    pub mortal: bool,
}

impl Api {
    pub async fn new(cluster: &Cluster) -> Self {
        Self { client: client(cluster.kubeconfig().to_owned()).await, mortal: false }
    }

    /// Sends a request, and again if nobody answers: servers of tests share their machine.
    async fn send(&self, method: Method, path: &str, kind: &str, body: &Value) -> Result<Value, Error> {
        let begin = Instant::now();
        loop {
            let body = (method != Method::GET).then(|| (kind, body.to_string().into_bytes()));
            match self.client.request(method.clone(), path, body).await {
                Err(Error::Unreachable { .. } | Error::InvalidResponse { .. })
                    if begin.elapsed() < PATIENCE =>
                {
                    sleep(Duration::from_millis(200)).await;
                }
                result => return result,
            }
        }
    }

    /// Creates an object in a collection and gives its uid.
    pub async fn post(&self, path: &str, body: Value) -> String {
        let made = match self.send(Method::POST, path, "application/json", &body).await {
            // The answer to the first try was lost.
            Err(Error::Api(status)) if status.code == 409 => {
                let name = body["metadata"]["name"].as_str().unwrap_or_default();
                self.get(&format!("{path}/{name}")).await.unwrap_or_default()
            }
            made => made.unwrap_or_else(|e| panic!("POST {path}: {e}\n{body}")),
        };
        made["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
    }

    pub async fn get(&self, path: &str) -> Option<Value> {
        match self.send(Method::GET, path, "application/json", &Value::Null).await {
            Ok(found) => Some(found),
            Err(Error::Api(status)) if status.code == 404 => None,
            Err(error) => panic!("GET {path}: {error}"),
        }
    }

    pub async fn merge(&self, path: &str, patch: Value) {
        let result = self.send(Method::PATCH, path, "application/merge-patch+json", &patch).await;
        result.unwrap_or_else(|e| panic!("PATCH {path}: {e}"));
    }

    pub async fn delete(&self, path: &str, propagation: &str) {
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation});
        match self.send(Method::DELETE, path, "application/json", &options).await {
            // The answer to the first try was lost.
            Err(Error::Api(status)) if status.code == 404 => {}
            result => drop(result.unwrap_or_else(|e| panic!("DELETE {path}: {e}"))),
        }
    }

    /// Waits until there is such an object.
    pub async fn until(&self, path: &str, is: impl Fn(&Value) -> bool) -> Value {
        let found = self.within(PATIENCE, path, is).await;
        found.unwrap_or_else(|found| panic!("{path} is {found:?}"))
    }

    /// Waits until there is such an object, or gives what is there instead.
    pub async fn within(
        &self,
        patience: Duration,
        path: &str,
        is: impl Fn(&Value) -> bool,
    ) -> Result<Value, Option<Value>> {
        let begin = Instant::now();
        loop {
            match self.get(path).await {
                Some(found) if is(&found) => return Ok(found),
                other if begin.elapsed() >= patience => return Err(other),
                _ => sleep(Duration::from_millis(10)).await,
            }
        }
    }

    pub async fn until_gone(&self, path: &str) {
        let begin = Instant::now();
        while let Some(found) = self.get(path).await {
            assert!(begin.elapsed() < PATIENCE, "{path} is {found}");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

pub async fn client(kubeconfig: PathBuf) -> Client {
    Client::new(&ClientConfig { kubeconfig: Some(kubeconfig), ..ClientConfig::default() }).await.unwrap()
}

/// Our controllers, in a thread of their own.
pub struct Ours {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ours {
    pub fn start(cluster: &Cluster) -> Self {
        let kubeconfig = cluster.kubeconfig().to_owned();
        let options = Options {
            root_ca: std::fs::read_to_string(cluster.authority()).unwrap(),
            signer: Some(Arc::new(|claims: &Claims| Ok(format!("signed {}", claims.to_json())))),
            log: Log::new(level(), Style::Console),
        };
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let client = client(kubeconfig).await;
                podium_controllers::run(client, options, async { drop(stopped.await) }).await;
            });
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

fn level() -> Level {
    if std::env::var_os("PODIUM_DEBUG").is_some() { Level::Debug } else { Level::Error }
}

impl Drop for Ours {
    /// Whatever they are doing, they do not finish it.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}
