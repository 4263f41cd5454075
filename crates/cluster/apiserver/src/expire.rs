//! Events are forgotten after an hour, as everywhere.

use std::time::Duration;

use podium_meta::time;
use podium_store::{Expect, Key, Query};
use serde_json::Value;
use tokio::time::sleep;

use crate::api::Api;
use crate::{clock, meta};

/// Where Events are.
const EVENTS: &str = "events";
/// How long an Event is kept after it was last written.
const KEPT: i64 = 3600;
/// How often it is looked for older ones.
const PAUSE: Duration = Duration::from_secs(60);

/// Removes old Events, for ever.
pub async fn run(api: &Api) {
    loop {
        sweep(api, clock::seconds()).await;
        sleep(PAUSE).await;
    }
}

async fn sweep(api: &Api, now: i64) {
    let Ok(page) = api.store().collection(EVENTS).list(Query::default(), |_| true) else { return };
    for object in &page.objects {
        let event: Value = serde_json::from_slice(object.body()).unwrap_or_default();
        if written(&event).is_some_and(|at| now - at > KEPT) {
            let key = Key::new(EVENTS, object.namespace(), object.name());
            // One that was raised meanwhile stays.
            let _ = api.store().delete(key, Expect::At(object.revision())).await;
        }
    }
}

/// When it was last written.
fn written(event: &Value) -> Option<i64> {
    let entries =
        meta::of(event).and_then(|metadata| metadata.get("managedFields")).and_then(Value::as_array);
    let times = entries.into_iter().flatten().filter_map(|entry| entry.get("time")?.as_str());
    let told = ["/lastTimestamp", "/series/lastObservedTime", "/metadata/creationTimestamp"];
    let told = told.into_iter().filter_map(|path| event.pointer(path)?.as_str());
    // The future is not believed: such an Event would stay for ever.
    times.chain(told).filter_map(time::parse_seconds).filter(|at| *at <= clock::seconds()).max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_write_counts() {
        let event = json!({"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z",
            "managedFields": [{"time": "2020-01-01T02:00:00Z"}]}, "lastTimestamp": "2020-01-01T01:00:00Z",
            "series": {"lastObservedTime": "9999-01-01T00:00:00.000000Z"}});
        assert_eq!(written(&event), time::parse_seconds("2020-01-01T02:00:00Z"));
        assert_eq!(written(&json!({})), None);
    }
}
