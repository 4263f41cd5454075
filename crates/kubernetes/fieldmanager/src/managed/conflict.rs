//! Fields that a configuration would take from others.

use std::fmt;

use super::owners::{Operation, Owner};
use crate::go;
use crate::set::FieldSet;
use crate::step::Step;

/// Fields that others own and a configuration would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts(pub(crate) Vec<(Owner<'static>, Vec<Vec<Step<'static>>>)>);

/// One of them, as a Status tells it (its reason is `FieldManagerConflict`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Whose field it is.
    pub message: String,
    /// Which field.
    pub field: String,
}

impl Conflicts {
    /// The conflicts from what would be taken from each owner.
    pub(crate) fn of<'a>(taken: impl IntoIterator<Item = (&'a Owner<'a>, &'a FieldSet<'a>)>) -> Self {
        let mut all = Vec::new();
        for (owner, set) in taken {
            let mut paths = Vec::new();
            set.each_path(&mut |path| paths.push(path.iter().cloned().map(Step::into_owned).collect()));
            let owner = Owner {
                manager: owner.manager.clone().into_owned().into(),
                operation: owner.operation,
                subresource: owner.subresource.clone().into_owned().into(),
                version: owner.version.clone().into_owned().into(),
                fields: FieldSet::default(),
            };
            all.push((owner, paths));
        }
        Conflicts(all)
    }

    /// All conflicts as the causes of a Status.
    pub fn causes(&self) -> Vec<Cause> {
        let one = |(owner, paths): &(Owner<'static>, Vec<Vec<Step<'static>>>)| -> Vec<Cause> {
            let message = format!("conflict with {}", name(owner));
            paths.iter().map(|path| Cause { message: message.clone(), field: print(path) }).collect()
        };
        self.0.iter().flat_map(one).collect()
    }

    /// The fields, whosever they are.
    pub(crate) fn fields(&self) -> FieldSet<'static> {
        let mut set = FieldSet::default();
        self.0.iter().flat_map(|(_, paths)| paths).for_each(|path| set.insert(path));
        set
    }

    /// The conflicts about other fields than those of a set.
    pub(crate) fn beyond(self, allowed: &FieldSet<'_>) -> Self {
        let rest = self.0.into_iter().map(|(owner, mut paths)| {
            paths.retain(|path| !allowed.has(path));
            (owner, paths)
        });
        Conflicts(rest.filter(|(_, paths)| !paths.is_empty()).collect())
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count: usize = self.0.iter().map(|(_, paths)| paths.len()).sum();
        if let ([(owner, paths)], 1) = (self.0.as_slice(), count) {
            let path: String = paths.iter().map(|path| print(path)).collect();
            return write!(f, "Apply failed with 1 conflict: conflict with {}: {path}", name(owner));
        }
        write!(f, "Apply failed with {count} conflicts: ")?;
        for (at, (owner, paths)) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "conflicts with {}:", name(owner))?;
            paths.iter().try_for_each(|path| write!(f, "\n- {}", print(path)))?;
        }
        Ok(())
    }
}

fn print(path: &[Step<'_>]) -> String {
    path.iter().map(ToString::to_string).collect()
}

fn name(owner: &Owner<'_>) -> String {
    let mut out = go::quote(&owner.manager);
    if !owner.subresource.is_empty() {
        out.push_str(" with subresource ");
        out.push_str(&go::quote(&owner.subresource));
    }
    if owner.operation == Operation::Update {
        out.push_str(" using ");
        out.push_str(&owner.version);
    }
    out
}
