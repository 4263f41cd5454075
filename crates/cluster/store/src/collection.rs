//! Reading a resource.

use std::sync::Arc;

use crate::kind::{Kind, Part};
use crate::shared::Shared;
use crate::{Error, Object, Result, Revision, Watch};

/// One resource of the store; a copy is two pointers.
#[derive(Clone)]
pub struct Collection {
    shared: Arc<Shared>,
    kind: Arc<Kind>,
}

/// Which objects of a resource.
#[derive(Debug, Clone, Copy, Default)]
pub struct Query<'a> {
    /// What their paths begin with: `namespace/`, or nothing for all.
    pub prefix: &'a str,
    /// The path after which the list goes on.
    pub after: &'a str,
    /// How many there are in a page; 0 means all.
    pub limit: usize,
    /// The revision of the list; without one, the newest.
    pub at: Option<Revision>,
}

/// A list, or a part of one, in the order of paths.
#[derive(Debug, Clone)]
pub struct Page {
    /// The revision that the list is of. A watch from here on misses nothing and repeats nothing.
    pub revision: Revision,
    /// The objects.
    pub objects: Vec<Object>,
    /// The path after which the next page begins, if there are more objects.
    pub next: Option<Box<str>>,
}

/// How many objects are looked at before a writer may go on.
const TAKE: usize = 1024;

impl Collection {
    pub(crate) fn new(shared: Arc<Shared>, kind: Arc<Kind>) -> Self {
        Self { shared, kind }
    }

    /// The newest content of an object.
    pub fn get(&self, path: &str) -> Option<Object> {
        self.kind.get(path)
    }

    /// The content of an object at a revision.
    ///
    /// # Errors
    /// When the revision is too old or in the future.
    pub fn get_at(&self, path: &str, revision: Revision) -> Result<Option<Object>> {
        self.reached(revision)?;
        self.kind.get_at(path, revision)
    }

    /// Lists objects, all of one revision, however long it takes.
    ///
    /// # Errors
    /// When the revision is too old or in the future.
    pub fn list(&self, query: Query<'_>, selects: impl Fn(&Object) -> bool) -> Result<Page> {
        self.reached(query.at.unwrap_or_default())?;
        let pin = self.shared.pin(query.at);
        let revision = pin.revision();
        let limit = if query.limit == 0 { usize::MAX } else { query.limit };
        let mut page = Page { revision, objects: Vec::new(), next: None };
        let mut last: Option<Object> = None;
        loop {
            let after = last.as_ref().map_or(query.after, Object::path);
            // One more than fits, to know whether there is more.
            let most = TAKE.min(limit.saturating_sub(page.objects.len()).saturating_add(1));
            let part = self.kind.part(Part { prefix: query.prefix, after, revision }, most)?;
            let rest = part.len() == most;
            for object in part {
                if page.objects.len() == limit {
                    page.next = last.map(|last| last.path().into());
                    return Ok(page);
                }
                if selects(&object) {
                    page.objects.push(object.clone());
                }
                last = Some(object);
            }
            if !rest {
                return Ok(page);
            }
        }
    }

    /// How many objects a query without a limit would give.
    ///
    /// # Errors
    /// When the revision is too old or in the future.
    pub fn count(&self, query: Query<'_>) -> Result<usize> {
        self.reached(query.at.unwrap_or_default())?;
        let revision = self.shared.pin(query.at).revision();
        self.kind.count(Part { prefix: query.prefix, after: query.after, revision })
    }

    /// Follows what happens after a revision to objects whose paths begin so. A revision in the future is silence
    /// until it is there.
    ///
    /// # Errors
    /// When the revision is too old.
    pub fn watch(&self, prefix: &str, after: Revision) -> Result<Watch> {
        let oldest = self.kind.oldest();
        if after < oldest {
            return Err(Error::Compacted { asked: after, oldest });
        }
        Ok(Watch::new(self.shared.clone(), self.kind.clone(), prefix, after))
    }

    /// The oldest revision that this resource can be asked for.
    pub fn oldest(&self) -> Revision {
        self.kind.oldest()
    }

    fn reached(&self, revision: Revision) -> Result<()> {
        let newest = self.shared.published();
        if revision > newest { Err(Error::Future { asked: revision, newest }) } else { Ok(()) }
    }
}
