//! The ownership graph of the garbage collector.
//!
//! Of every object the graph has the uid and a hash of its namespace and name (24 bytes), so that an owner is known without a
//! request; a node exists only for objects that have owners or wait for their dependents.
//!
//! [`Graph::decide`] is a pure function of the graph: rest, look for an owner, delete, detach, release, orphan. An owner whose
//! deletion a watch has reported needs no request; an owner that was never observed is looked for before any dependent is deleted.
//! A deletion names the resourceVersion that was judged.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use podium_client::ObjectKey;
use podium_client::write::PropagationPolicy;
use podium_meta::GroupVersionKind;

use crate::meta::{FOREGROUND, Meta, Reference};
use crate::uid::Uid;

/// The number of a kind that is watched.
pub type Number = u32;
/// Hashes of a namespace and a name.
type Mark = (u32, u32);

/// What the graph has of an object.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its kind.
    pub kind: Number,
    /// Where it is.
    pub key: ObjectKey,
    /// The version that all this is of.
    pub version: u64,
    deleting: bool,
    foreground: bool,
    orphan: bool,
    links: Box<[Link]>,
}

impl Node {
    fn waits_for_dependents(&self) -> bool {
        self.deleting && self.foreground && !self.orphan
    }

    fn lets_dependents_stay(&self) -> bool {
        self.deleting && self.orphan
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    owner: Uid,
    /// The number of the kind as it is written.
    kind: u32,
    name: Arc<str>,
    block: bool,
}

/// An object that others name as their owner, whether there is one or not.
#[derive(Debug, Default)]
struct Owner {
    dependents: HashSet<Uid>,
    /// How many references want it to wait.
    blocking: usize,
    /// Whether it was seen to go.
    gone: bool,
    /// Where it was looked for and not found.
    absent: Vec<Claim>,
}

/// Where a reference says that an owner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    kind: u32,
    place: Mark,
}

#[derive(Debug, Default)]
struct Table {
    group: String,
    kind: String,
    namespaced: bool,
    served: bool,
    complete: bool,
    seen: HashMap<Uid, Mark>,
    /// What was seen before the list that is under way.
    before: Option<HashMap<Uid, Mark>>,
}

impl Table {
    fn mark(&self, uid: Uid) -> Option<Mark> {
        self.seen.get(&uid).or_else(|| self.before.as_ref()?.get(&uid)).copied()
    }
}

/// What is to be looked at after a change.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Todo {
    /// At once.
    pub now: Vec<Uid>,
    /// Soon: the owner may only not have been heard of yet.
    pub later: Vec<Uid>,
    /// Objects with an owner in a namespace that is not theirs.
    pub astray: Vec<(Uid, Uid)>,
}

/// What a reference is worth.
enum Standing {
    /// The owner is there.
    Solid,
    /// It waits for its dependents to go.
    Waiting,
    /// It is not there.
    Dangling,
    /// It should be there, but was not seen.
    Suspect(Suspect),
    /// Nothing can be said.
    Unknown,
    /// It never can be.
    Impossible,
}

/// An owner that has to be looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Which.
    pub owner: Uid,
    /// Its kind.
    pub kind: Number,
    /// Where it should be.
    pub key: ObjectKey,
    /// The same in short.
    pub claim: Claim,
}

/// What is to be done with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Rest,
    /// Look for owners that were not seen.
    Look(Vec<Suspect>),
    /// Delete it; before that, let none of its owners wait for it any more.
    Delete(PropagationPolicy, bool),
    /// Take references to these owners away.
    Detach(Vec<Uid>),
    /// Take a finalizer away.
    Release(&'static str),
    /// Take the references to it away from all of these, and then its finalizer.
    Orphan(Vec<Uid>),
}

/// Everything that is known of owners.
#[derive(Debug, Default)]
pub struct Graph {
    hasher: RandomState,
    tables: Vec<Table>,
    /// Kinds as references write them, with the tables that have them.
    written: Vec<(GroupVersionKind, Option<Number>)>,
    numbers: HashMap<GroupVersionKind, u32>,
    nodes: HashMap<Uid, Node>,
    owners: HashMap<Uid, Owner>,
}

impl Graph {
    /// A kind will be watched, for the first time or again.
    pub fn add_kind(&mut self, kind: &GroupVersionKind, namespaced: bool) -> Number {
        let known = self.tables.iter().position(|t| t.group == kind.group && t.kind == kind.kind);
        let at = known.unwrap_or(self.tables.len());
        if known.is_none() {
            let (group, kind) = (kind.group.clone(), kind.kind.clone());
            self.tables.push(Table { group, kind, ..Table::default() });
        }
        if let Some(table) = self.tables.get_mut(at) {
            (table.namespaced, table.served) = (namespaced, true);
        }
        let number = u32::try_from(at).unwrap_or(Number::MAX);
        for (written, of) in &mut self.written {
            if written.group == kind.group && written.kind == kind.kind {
                *of = Some(number);
            }
        }
        number
    }

    /// A kind is served no more. That says nothing about what it owned: it may be served again.
    pub fn drop_kind(&mut self, number: Number) -> Todo {
        let mut todo = Todo::default();
        if let Some(table) = self.table_mut(number) {
            (table.served, table.complete) = (false, false);
            (table.seen, table.before) = (HashMap::new(), None);
        }
        let of_kind = |(uid, node): (&Uid, &Node)| (node.kind == number).then_some(*uid);
        for uid in self.nodes.iter().filter_map(of_kind).collect::<Vec<_>>() {
            self.remove_node(uid, &mut todo);
        }
        todo
    }

    /// Whether a kind has been listed.
    pub fn is_complete(&self, number: Number) -> bool {
        self.table(number).is_some_and(|table| table.complete)
    }

    /// What is known of an object that has owners or waits.
    pub fn node(&self, uid: Uid) -> Option<&Node> {
        self.nodes.get(&uid)
    }

    /// Whether an object has the owners that it is known by.
    pub fn has_owners(&self, meta: &Meta<'_>) -> bool {
        let Some(node) = self.nodes.get(&meta.uid) else { return false };
        let same = |(link, reference): (&Link, &Reference<'_>)| {
            let kind = self.written.get(link.kind as usize).is_some_and(|(kind, _)| *kind == reference.kind);
            kind && (link.owner, &*link.name) == (reference.uid, reference.name)
        };
        node.links.len() == meta.owners.len() && node.links.iter().zip(&meta.owners).all(same)
    }

    /// How many objects were seen, how many have nodes, and how many are named as owners.
    #[cfg(test)]
    pub fn size(&self) -> (usize, usize, usize) {
        (self.tables.iter().map(|table| table.seen.len()).sum(), self.nodes.len(), self.owners.len())
    }

    /// Whether an object names an owner of a kind.
    pub fn has_dependents_of(&self, group: &str, kind: &str) -> bool {
        let of_kind = |link: &Link| {
            self.written.get(link.kind as usize).is_some_and(|(k, _)| k.group == group && k.kind == kind)
        };
        self.nodes.values().any(|node| !node.deleting && node.links.iter().any(of_kind))
    }

    /// A list of a kind begins.
    pub fn begin(&mut self, number: Number) {
        if let Some(table) = self.table_mut(number) {
            let mut before = std::mem::take(&mut table.seen);
            before.extend(table.before.take().into_iter().flatten());
            table.before = Some(before);
        }
    }

    /// The list is complete: what it did not name is no more. Whether an owner that it did not name is really gone, is
    /// still looked at by whoever depends on that.
    pub fn end(&mut self, number: Number) -> Todo {
        let mut todo = Todo::default();
        let Some(table) = self.table_mut(number) else { return todo };
        table.complete = true;
        let lost = table.before.take().unwrap_or_default();
        for uid in lost.into_keys() {
            self.remove_node(uid, &mut todo);
        }
        let unseen = |node: &Node| {
            let seen = |link: &Link| self.table(number).is_some_and(|t| t.seen.contains_key(&link.owner));
            node.links.iter().any(|link| self.resolve(link.kind) == Some(number) && !seen(link))
        };
        todo.now.extend(self.nodes.iter().filter(|(_, node)| unseen(node)).map(|(uid, _)| *uid));
        todo
    }

    /// An object is there, new or changed.
    pub fn apply(&mut self, number: Number, meta: &Meta<'_>) -> Todo {
        let mut todo = Todo::default();
        self.see(number, meta, &mut todo);
        let wanted = !meta.owners.is_empty() || meta.deleting && (meta.foreground || meta.orphan);
        let old = self.nodes.remove(&meta.uid);
        if !wanted && old.is_none() {
            return todo;
        }
        let links = self.links(meta);
        let before = old.as_ref().map(|node| &*node.links).unwrap_or_default();
        let added: Vec<Link> = links.iter().filter(|link| !before.contains(link)).cloned().collect();
        for link in &added {
            let owner = self.owners.entry(link.owner).or_default();
            owner.dependents.insert(meta.uid);
            owner.blocking += usize::from(link.block && link.owner != meta.uid);
        }
        for link in before.iter().filter(|link| !links.contains(link)) {
            let stays = links.iter().any(|other| other.owner == link.owner);
            self.unlink(meta.uid, link, stays, &mut todo);
        }
        if !wanted {
            return todo;
        }
        let node = Node {
            kind: number,
            key: meta.key.clone(),
            version: meta.version,
            deleting: meta.deleting,
            foreground: meta.foreground,
            orphan: meta.orphan,
            links: links.into(),
        };
        self.judge_links(meta.uid, &node, &added, &mut todo);
        if node.lets_dependents_stay() {
            // What was made just before may not have been heard of yet.
            todo.later.push(meta.uid);
        } else if node.waits_for_dependents() && !old.as_ref().is_some_and(Node::waits_for_dependents) {
            todo.now.push(meta.uid);
            todo.now.extend(self.owners.get(&meta.uid).into_iter().flat_map(|owner| &owner.dependents));
        }
        self.nodes.insert(meta.uid, node);
        todo
    }

    /// An object is gone.
    pub fn delete(&mut self, number: Number, uid: Uid) -> Todo {
        let mut todo = Todo::default();
        if let Some(table) = self.table_mut(number) {
            table.seen.remove(&uid);
            if let Some(before) = &mut table.before {
                before.remove(&uid);
            }
        }
        self.remove_node(uid, &mut todo);
        if let Some(owner) = self.owners.get_mut(&uid) {
            owner.gone = true;
            todo.now.extend(&owner.dependents);
        }
        todo
    }

    /// An owner was looked for and is not there.
    pub fn set_absent(&mut self, suspect: &Suspect) {
        if let Some(owner) = self.owners.get_mut(&suspect.owner)
            && !owner.absent.contains(&suspect.claim)
        {
            owner.absent.push(suspect.claim);
        }
    }

    /// What is to be done with an object.
    pub fn decide(&self, uid: Uid) -> Step {
        let Some(node) = self.nodes.get(&uid) else { return Step::Rest };
        let owner = self.owners.get(&uid);
        if node.lets_dependents_stay() {
            return Step::Orphan(owner.map(|o| o.dependents.iter().copied().collect()).unwrap_or_default());
        }
        if node.waits_for_dependents() {
            let blocked = owner.is_some_and(|owner| owner.blocking > 0);
            return if blocked { Step::Rest } else { Step::Release(FOREGROUND) };
        }
        if node.deleting {
            return Step::Rest;
        }
        let (mut solid, mut waiting) = (false, false);
        let (mut lost, mut suspects) = (Vec::new(), Vec::new());
        for link in &node.links {
            match self.standing(node, link) {
                Standing::Solid => solid = true,
                Standing::Waiting => {
                    waiting = true;
                    lost.push(link.owner);
                }
                Standing::Dangling => lost.push(link.owner),
                Standing::Suspect(suspect) => suspects.push(suspect),
                Standing::Unknown | Standing::Impossible => return Step::Rest,
            }
        }
        if !suspects.is_empty() {
            return Step::Look(suspects);
        }
        if solid || lost.is_empty() {
            return if lost.is_empty() { Step::Rest } else { Step::Detach(lost) };
        }
        let dependents = owner.map(|owner| &owner.dependents);
        if waiting && dependents.is_some_and(|all| !all.is_empty()) {
            // Two that wait for each other would wait for ever.
            let circle = dependents.into_iter().flatten().filter_map(|uid| self.nodes.get(uid));
            let circle = circle.into_iter().any(Node::waits_for_dependents);
            return Step::Delete(PropagationPolicy::Foreground, circle);
        }
        let how = match node {
            Node { orphan: true, .. } => PropagationPolicy::Orphan,
            Node { foreground: true, .. } => PropagationPolicy::Foreground,
            _ => PropagationPolicy::Background,
        };
        Step::Delete(how, false)
    }

    /// A reference of an object as people read it: its kind and name.
    pub fn reference(&self, item: Uid, owner: Uid) -> Option<(&GroupVersionKind, &str)> {
        let link = self.nodes.get(&item)?.links.iter().find(|link| link.owner == owner)?;
        Some((&self.written.get(link.kind as usize)?.0, &link.name))
    }

    fn table(&self, number: Number) -> Option<&Table> {
        self.tables.get(number as usize)
    }

    fn table_mut(&mut self, number: Number) -> Option<&mut Table> {
        self.tables.get_mut(number as usize)
    }

    /// The number of a kind as it is written, if it is served.
    fn resolve(&self, written: u32) -> Option<Number> {
        let (_, number) = self.written.get(written as usize)?;
        number.filter(|number| self.table(*number).is_some_and(|table| table.served))
    }

    fn mark(&self, namespace: Option<&str>, name: &str) -> Mark {
        let short = |text: &str| (self.hasher.hash_one(text) & 0xffff_ffff) as u32;
        (short(namespace.unwrap_or_default()), short(name))
    }

    fn links(&mut self, meta: &Meta<'_>) -> Vec<Link> {
        let mut links = Vec::with_capacity(meta.owners.len());
        for reference in &meta.owners {
            let kind = match self.numbers.get(&reference.kind) {
                Some(number) => *number,
                None => {
                    let number = u32::try_from(self.written.len()).unwrap_or(u32::MAX);
                    let GroupVersionKind { group, kind, .. } = &reference.kind;
                    let table = self.tables.iter().position(|t| t.group == *group && t.kind == *kind);
                    let table = table.and_then(|at| u32::try_from(at).ok());
                    self.written.push((reference.kind.clone(), table));
                    self.numbers.insert(reference.kind.clone(), number);
                    number
                }
            };
            // Those who have the same owner share its name.
            let others = self.owners.get(&reference.uid).into_iter().flat_map(|owner| &owner.dependents);
            let shared = others.take(1).filter_map(|uid| self.nodes.get(uid)).flat_map(|node| &node.links);
            let shared = shared.map(|link| &link.name).find(|name| ***name == *reference.name).cloned();
            links.push(Link {
                owner: reference.uid,
                kind,
                name: shared.unwrap_or_else(|| reference.name.into()),
                block: reference.block,
            });
        }
        links
    }

    /// Remembers that an object is there, and looks again at those that thought it elsewhere.
    fn see(&mut self, number: Number, meta: &Meta<'_>, todo: &mut Todo) {
        let mark = self.mark(meta.key.namespace(), meta.key.name());
        let Some(table) = self.table_mut(number) else { return };
        let before = table.before.as_mut().and_then(|before| before.remove(&meta.uid));
        let known = table.seen.insert(meta.uid, mark).or(before);
        if known == Some(mark) {
            return;
        }
        let Some(owner) = self.owners.get(&meta.uid) else { return };
        for item in &owner.dependents {
            let Some(node) = self.nodes.get(item) else { continue };
            let links = node.links.iter().filter(|link| link.owner == meta.uid);
            if links.clone().all(|link| self.expected(node, link) == (Some(number), mark)) {
                continue;
            }
            todo.now.push(*item);
            if self.is_astray(node, meta.key.namespace()) {
                todo.astray.push((*item, meta.uid));
            }
        }
    }

    fn is_astray(&self, item: &Node, owner: Option<&str>) -> bool {
        owner.is_some() && owner != item.key.namespace()
    }

    /// The kind and the place that a reference speaks of.
    fn expected(&self, node: &Node, link: &Link) -> (Option<Number>, Mark) {
        let number = self.resolve(link.kind);
        let namespaced = number.and_then(|number| self.table(number)).is_some_and(|table| table.namespaced);
        (number, self.mark(node.key.namespace().filter(|_| namespaced), &link.name))
    }

    fn standing(&self, node: &Node, link: &Link) -> Standing {
        let (number, place) = self.expected(node, link);
        let owner = self.owners.get(&link.owner);
        let gone = owner.is_some_and(|owner| owner.gone);
        let Some((number, table)) = number.and_then(|number| Some((number, self.table(number)?))) else {
            return if gone { Standing::Dangling } else { Standing::Unknown };
        };
        if table.namespaced && node.key.namespace().is_none() {
            return Standing::Impossible;
        }
        let claim = Claim { kind: link.kind, place };
        if gone || owner.is_some_and(|owner| owner.absent.contains(&claim)) {
            return Standing::Dangling;
        }
        match table.mark(link.owner) {
            Some(mark) if mark == place => match self.nodes.get(&link.owner) {
                Some(owner) if owner.waits_for_dependents() => Standing::Waiting,
                _ => Standing::Solid,
            },
            None if !table.complete => Standing::Unknown,
            _ => {
                let key = ObjectKey::new(node.key.namespace().filter(|_| table.namespaced), &link.name);
                Standing::Suspect(Suspect { owner: link.owner, kind: number, key, claim })
            }
        }
    }

    /// Whether an object with new references has to be looked at.
    fn judge_links(&self, uid: Uid, node: &Node, added: &[Link], todo: &mut Todo) {
        for link in added {
            match self.standing(node, link) {
                Standing::Dangling | Standing::Waiting => todo.now.push(uid),
                Standing::Suspect(suspect) => {
                    let seen = self.table(suspect.kind).and_then(|table| table.mark(link.owner));
                    // Seen elsewhere: there is nothing to wait for.
                    if seen.is_some() { todo.now.push(uid) } else { todo.later.push(uid) }
                }
                Standing::Solid | Standing::Unknown | Standing::Impossible => {}
            }
            let place = self.resolve(link.kind).and_then(|number| self.table(number)?.mark(link.owner));
            let (nowhere, _) = self.mark(None, "");
            let (here, _) = self.mark(node.key.namespace(), "");
            if place.is_some_and(|(namespace, _)| namespace != nowhere && namespace != here) {
                todo.astray.push((uid, link.owner));
            }
        }
    }

    fn remove_node(&mut self, uid: Uid, todo: &mut Todo) {
        let Some(node) = self.nodes.remove(&uid) else { return };
        for link in &node.links {
            self.unlink(uid, link, false, todo);
        }
    }

    /// An object does not name an owner in this way any more; `stays` if it does in another.
    fn unlink(&mut self, uid: Uid, link: &Link, stays: bool, todo: &mut Todo) {
        let Some(owner) = self.owners.get_mut(&link.owner) else { return };
        if !stays {
            owner.dependents.remove(&uid);
        }
        owner.blocking = owner.blocking.saturating_sub(usize::from(link.block && link.owner != uid));
        let free = owner.blocking == 0;
        if owner.dependents.is_empty() {
            self.owners.remove(&link.owner);
        }
        if free && self.nodes.get(&link.owner).is_some_and(Node::waits_for_dependents) {
            todo.now.push(link.owner);
        }
    }
}

#[cfg(test)]
mod tests;
