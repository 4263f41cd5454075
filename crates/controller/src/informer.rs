//! Lists and watches one resource and calls a handler for every event.
//!
//! ```text
//!  API server ──list, watch──▶ Informer ──WatchEvent──▶ handler ──key──▶ WorkQueue
//!                                 │
//!                                 └──▶ ObjectStore: resourceVersion and signature of every object (optional)
//! ```
//!
//! An informer asks for whole objects or for their metadata only ([`Representation`]) and may be restricted by namespace,
//! label and field selector. It keeps no bodies: with an [`ObjectStore`] it keeps about 150 bytes per object.
//!
//! [`Representation`]: podium_client::client::Representation

use std::cell::RefCell;
use std::rc::Rc;

use podium_client::Client;
use podium_client::watch::{ListWatch, WatchEvent};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::object_store::{Change, ObjectStore};

/// A running list and watch of one resource; dropping it ends the watch.
pub struct Informer {
    synced: watch::Receiver<bool>,
    task: AbortHandle,
}

impl Informer {
    /// Starts on the current [`LocalSet`](tokio::task::LocalSet). The handler runs in the task of the watch: while it
    /// runs, nothing is read from the connection.
    pub fn start(
        client: &Client,
        list_watch: ListWatch,
        mut handler: impl FnMut(WatchEvent) + 'static,
    ) -> Self {
        let (sender, synced) = watch::channel(false);
        let client = client.clone();
        let task = tokio::task::spawn_local(async move {
            let handle = |event: WatchEvent| {
                let is_synced = matches!(event, WatchEvent::ListDone);
                handler(event);
                if is_synced {
                    sender.send_replace(true);
                }
            };
            match list_watch.run(&client, handle).await {}
        });
        Self { synced, task: task.abort_handle() }
    }

    /// Starts with a store that is up to date when the handler runs. The handler also gets what the event changed in the
    /// store; a list shows objects to be gone that were deleted while the watch was down. `signature` decides which
    /// changes of an object matter, see [`Change::is_significant`].
    pub fn start_with_store(
        client: &Client,
        list_watch: ListWatch,
        store: Rc<RefCell<ObjectStore>>,
        signature: fn(&Value) -> u64,
        mut handler: impl FnMut(&WatchEvent, Vec<Change>) + 'static,
    ) -> Self {
        Self::start(client, list_watch, move |event| {
            let mut changes = Vec::new();
            store.borrow_mut().apply(&event, signature, |change| changes.push(change));
            handler(&event, changes);
        })
    }

    /// Whether the first list is complete.
    pub fn has_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Waits until the first list is complete.
    pub async fn wait_for_sync(&self) {
        // An error means that the watch was ended by a drop of its LocalSet, which ends the caller as well.
        let _ = self.synced.clone().wait_for(|synced| *synced).await;
    }
}

impl Drop for Informer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
