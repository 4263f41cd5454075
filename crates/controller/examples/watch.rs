//! Watches the metadata of all objects of some kinds and says what that costs.
//!
//! `watch SECONDS [apiVersion/Kind …]`, with the cluster of KUBECONFIG.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use podium_client::client::Representation;
use podium_client::watch::{ListWatch, WatchEvent};
use podium_client::{Client, ClientConfig, Discovery, request};
use podium_controller::log::{Level, Log, Style};
use podium_controller::object_store::ObjectStore;
use podium_meta::GroupVersionKind;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let log = Log::new(Level::Info, Style::Console);
    let mut args = std::env::args().skip(1);
    let seconds: u64 = args.next().unwrap_or_default().parse().unwrap_or(30);
    let client = Client::new(&ClientConfig::default()).await?;
    let known = Discovery::fetch(&client).await?;
    let log_costs = |message: &str, objects: usize| {
        let requests: u64 = request::counts().iter().map(|(.., count)| count).sum();
        let (resident, anonymous, cpu) = (status("VmRSS:"), status("RssAnon:"), cpu_milliseconds());
        let fields: [(&str, &dyn Display); 5] = [
            ("objects", &objects),
            ("resident", &resident),
            ("anonymous", &anonymous),
            ("cpu_ms", &cpu),
            ("requests", &requests),
        ];
        log.info(message, &fields);
    };
    log_costs("connected", 0);
    let mut stores = Vec::new();
    for name in args {
        let (version, kind) = name.rsplit_once('/').unwrap_or(("v1", &name));
        let resource =
            known.find(&GroupVersionKind::new(version, kind)).ok_or("there is no such kind")?.clone();
        let store = Arc::new(Mutex::new(ObjectStore::default()));
        let (client, log) = (client.clone(), log.with("kind", &name));
        stores.push(store.clone());
        tokio::spawn(async move {
            let tell = |event: WatchEvent| {
                if let WatchEvent::Failing(trouble) = &event {
                    log.error(&trouble.message, &[]);
                }
                let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
                store.apply(&event, |_| 0, |_| ());
            };
            match ListWatch::new(resource, Representation::Metadata).run(&client, tell).await {}
        });
    }
    let lock = |store: &Arc<Mutex<ObjectStore>>| store.lock().unwrap_or_else(PoisonError::into_inner).len();
    tokio::time::sleep(Duration::from_secs(3)).await;
    log_costs("listed", stores.iter().map(lock).sum());
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    log_costs("after the wait", stores.iter().map(lock).sum());
    Ok(())
}

/// A line of what the kernel says of this process.
fn status(name: &str) -> String {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().to_owned()
}

/// The time that this process has computed; the kernel counts it in nanoseconds.
fn cpu_milliseconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds: f64 = text.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or_default();
    (nanoseconds / 1e4).round() / 100.0
}
