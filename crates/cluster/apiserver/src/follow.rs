//! Keeps state that is derived from stored objects up to date, on demand: there is no moment in which an acknowledged CRD or role
//! does not count.

use podium_store::{Collection, Error, Object, Query, Store, Watch};

/// Follows one resource: whoever asks is told of everything that has happened since the last time.
pub struct Follower {
    collection: Collection,
    watch: Option<Watch>,
}

/// What has happened.
pub enum News<'n> {
    /// Everything before is void.
    Restart,
    /// An object is there.
    Put(&'n Object),
    /// An object is gone.
    Gone(&'n Object),
}

impl Follower {
    /// Of a resource of the store.
    pub fn new(store: &Store, resource: &str) -> Self {
        Self { collection: store.collection(resource), watch: None }
    }

    /// Tells everything that has happened since the last time; whether there was anything.
    pub fn catch_up(&mut self, mut tell: impl FnMut(News<'_>)) -> bool {
        let mut any = false;
        loop {
            let Some(watch) = &mut self.watch else {
                any = true;
                tell(News::Restart);
                let Ok(page) = self.collection.list(Query::default(), |_| true) else { return any };
                for object in &page.objects {
                    tell(News::Put(object));
                }
                match self.collection.watch("", page.revision) {
                    Ok(watch) => self.watch = Some(watch),
                    Err(_) => return any,
                }
                continue;
            };
            match watch.try_next() {
                Ok(events) if events.is_empty() => return any,
                Ok(events) => {
                    any = true;
                    for event in events {
                        match event.now() {
                            Some(object) => tell(News::Put(object)),
                            None => tell(News::Gone(event.outcome())),
                        }
                    }
                }
                Err(Error::Compacted { .. }) => self.watch = None,
                Err(_) => return any,
            }
        }
    }
}
