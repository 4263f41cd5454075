//! One change of one object.

use std::sync::OnceLock;

use crate::{Object, Revision};

/// A change: what was there before, and what is there now.
#[derive(Debug)]
pub struct Event {
    revision: Revision,
    content: Content,
    last: OnceLock<Object>,
}

#[derive(Debug)]
enum Content {
    Put { old: Option<Object>, new: Object },
    Removed(Object),
}

/// What a watcher with a selection is told of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The object is new, or new in the selection.
    Added(Object),
    /// The object was and is in the selection.
    Modified(Object),
    /// The object is gone, or gone from the selection: its last content there, with the revision of the change.
    Deleted(Object),
}

impl Event {
    pub(crate) fn put(revision: Revision, old: Option<Object>, new: Object) -> Self {
        Self { revision, content: Content::Put { old, new }, last: OnceLock::new() }
    }

    pub(crate) fn removed(revision: Revision, old: Object) -> Self {
        Self { revision, content: Content::Removed(old), last: OnceLock::new() }
    }

    /// The revision of the change.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// What was there before.
    pub fn before(&self) -> Option<&Object> {
        match &self.content {
            Content::Put { old, .. } => old.as_ref(),
            Content::Removed(old) => Some(old),
        }
    }

    /// What is there now.
    pub fn now(&self) -> Option<&Object> {
        match &self.content {
            Content::Put { new, .. } => Some(new),
            Content::Removed(_) => None,
        }
    }

    /// Which object it is about.
    pub fn path(&self) -> &str {
        match &self.content {
            Content::Put { new, .. } => new.path(),
            Content::Removed(old) => old.path(),
        }
    }

    /// What was there before, with the revision of the change in it; made once, whoever asks.
    pub fn last(&self) -> Option<&Object> {
        self.before().map(|old| self.stamped(old))
    }

    /// What is there now, or what was removed, with the revision of the change in it.
    pub fn outcome(&self) -> &Object {
        match &self.content {
            Content::Put { new, .. } => new,
            Content::Removed(old) => self.stamped(old),
        }
    }

    fn stamped(&self, old: &Object) -> &Object {
        self.last.get_or_init(|| old.with_revision(self.revision))
    }

    /// What somebody is told who sees only some objects; nothing when neither content is among them.
    pub fn seen(&self, selects: impl Fn(&Object) -> bool) -> Option<Change> {
        let before = self.before().is_some_and(&selects);
        match self.now() {
            Some(new) if selects(new) => {
                Some(if before { Change::Modified(new.clone()) } else { Change::Added(new.clone()) })
            }
            _ if before => self.last().cloned().map(Change::Deleted),
            _ => None,
        }
    }

    /// What it keeps in memory that would not be there without it: its places in two queues, and the old content.
    pub(crate) fn weight(&self) -> usize {
        160 + self.before().map_or(0, Object::size)
    }
}

impl Change {
    /// The object as it is told.
    pub fn object(&self) -> &Object {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => object,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draft;

    fn object(color: &str, revision: Revision) -> Object {
        let body = format!(r#"{{"metadata":{{"labels":{{"color":"{color}"}},"resourceVersion":""}}}}"#);
        Draft::new(body).unwrap().finish("a", revision)
    }

    #[test]
    fn a_selection_sees_objects_come_and_go() {
        let red = |o: &Object| o.label("color") == Some("red");
        let (r, b) = (object("red", 1), object("blue", 1));
        let gone = object("red", 9);
        let event = |old: Option<&Object>, new: Option<&Object>| match new {
            Some(new) => Event::put(9, old.cloned(), new.clone()),
            None => Event::removed(9, old.unwrap().clone()),
        };
        for (old, new, told) in [
            (None, Some(&r), Some(Change::Added(r.clone()))),
            (Some(&b), Some(&r), Some(Change::Added(r.clone()))),
            (Some(&r), Some(&r), Some(Change::Modified(r.clone()))),
            (Some(&r), Some(&b), Some(Change::Deleted(gone.clone()))),
            (Some(&r), None, Some(Change::Deleted(gone.clone()))),
            (Some(&b), None, None),
            (None, Some(&b), None),
        ] {
            assert_eq!(event(old, new).seen(red), told);
        }
    }
}
