//! Places and the time that is kept there.

use std::sync::Arc;

use super::rule::Rule;
use super::{tzif, zones};

/// Why a place is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// The name can be no zone's.
    #[error("time: invalid location name")]
    InvalidName,
    /// There is no zone of this name.
    #[error("unknown time zone {0}")]
    Unknown(String),
    /// The data of the zone are damaged.
    #[error("malformed time zone information")]
    Malformed,
}

/// A kind of time, such as central European summer time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: Vec<u8>,
    /// Seconds east of Greenwich.
    pub(super) offset: i64,
    pub(super) summer: bool,
}

/// A kind of time together with the moments between which it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span<'a> {
    pub(super) name: &'a [u8],
    pub(super) offset: i64,
    pub(super) summer: bool,
    pub(super) start: i64,
    pub(super) end: i64,
}

impl Kind {
    pub(super) fn span(&self, start: i64, end: i64) -> Span<'_> {
        Span { name: &self.name, offset: self.offset, summer: self.summer, start, end }
    }
}

/// From this moment on (in seconds since 1970) the kind of time with this number holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) when: i64,
    pub(super) kind: usize,
}

/// The whole history of a zone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Zone {
    pub(super) name: Vec<u8>,
    pub(super) kinds: Vec<Kind>,
    pub(super) changes: Vec<Change>,
    pub(super) rule: Option<Rule>,
}

/// A place with its history of times; cheap to copy.
#[derive(Debug, Clone, Default)]
pub struct Location {
    /// Nothing means UTC.
    zone: Option<Arc<Zone>>,
    /// Whether it is the zone of this machine, which Go knows by another name than what it is a copy of.
    local: bool,
}

impl Location {
    /// Universal time.
    pub const UTC: Self = Self { zone: None, local: false };

    pub(super) fn new(zone: Zone) -> Self {
        Self { zone: Some(Arc::new(zone)), local: false }
    }

    /// Finds a zone by its IANA name; the empty name and `UTC` are universal time. `Local` is not known here.
    pub fn load(name: impl AsRef<[u8]>) -> Result<Self, LocationError> {
        let name = name.as_ref();
        if matches!(name, b"" | b"UTC") {
            return Ok(Self::UTC);
        }
        if name.windows(2).any(|pair| pair == b"..") || matches!(name, [b'/' | b'\\', ..]) {
            return Err(LocationError::InvalidName);
        }
        let unknown = || LocationError::Unknown(String::from_utf8_lossy(name).into_owned());
        zones::find(name).map(Self::new).ok_or_else(unknown)
    }

    /// Reads a zone from the content of a zone file.
    pub fn from_tzif(name: impl Into<Vec<u8>>, data: &[u8]) -> Result<Self, LocationError> {
        tzif::read(name.into(), data).map(Self::new).ok_or(LocationError::Malformed)
    }

    /// The same place under the name that the local zone goes by, usually `Local`.
    pub fn named(&self, name: impl Into<Vec<u8>>) -> Self {
        let zone = self.zone.as_deref().cloned().unwrap_or_default();
        Self::new(Zone { name: name.into(), ..zone })
    }

    /// A place whose clocks never change.
    pub fn fixed(name: impl Into<Vec<u8>>, offset: i64) -> Self {
        let name = name.into();
        let kinds = vec![Kind { name: name.clone(), offset, summer: false }];
        Self::new(Zone { name, kinds, changes: vec![Change { when: i64::MIN, kind: 0 }], rule: None })
    }

    /// The same place as the zone of this machine. It is no longer universal time itself, even if it keeps that.
    pub fn local(self) -> Self {
        let place = if self.zone.is_none() { self.named("UTC") } else { self };
        Self { local: true, ..place }
    }

    /// Whether it is universal time itself, which Go keeps as no place at all.
    pub fn is_utc(&self) -> bool {
        self.zone.is_none()
    }

    /// The place as Go source.
    pub fn go_string(&self) -> String {
        if self.is_utc() {
            "time.UTC".to_owned()
        } else if self.local {
            "time.Local".to_owned()
        } else {
            format!("time.Location({})", super::format::quote(self.name()))
        }
    }

    /// The kinds of time that are kept here: name, seconds east of Greenwich, summer.
    pub fn kinds(&self) -> impl Iterator<Item = (&[u8], i64, bool)> {
        self.zone.iter().flat_map(|z| &z.kinds).map(|k| (k.name.as_slice(), k.offset, k.summer))
    }

    /// When another kind holds, and the number of that kind.
    pub fn changes(&self) -> impl Iterator<Item = (i64, usize)> {
        self.zone.iter().flat_map(|z| &z.changes).map(|c| (c.when, c.kind))
    }

    /// The name of the place.
    pub fn name(&self) -> &[u8] {
        self.zone.as_ref().map_or(b"UTC", |zone| &zone.name)
    }

    pub(super) fn lookup(&self, unix: i64) -> Span<'_> {
        const UNIVERSAL: Span<'_> =
            Span { name: b"UTC", offset: 0, summer: false, start: i64::MIN, end: i64::MAX };
        self.zone.as_ref().and_then(|zone| zone.lookup(unix)).unwrap_or(UNIVERSAL)
    }

    /// The offset that an abbreviation means at a moment of local time.
    pub(super) fn offset_of(&self, name: &[u8], local: i64) -> Option<i64> {
        let kinds = self.zone.as_ref().map_or(&[][..], |zone| &zone.kinds);
        let mut named = kinds.iter().filter(|kind| kind.name == name);
        // The same abbreviation may stand for several offsets: prefer one that is in force then.
        let in_force = named.clone().find_map(|kind| {
            let span = self.lookup(local.wrapping_sub(kind.offset));
            (span.name == name).then_some(span.offset)
        });
        in_force.or_else(|| named.next().map(|kind| kind.offset))
    }

    /// Reports whether Go would hold both to be the same pointer: universal time, one loaded zone, the shared
    /// nameless zones of whole hours, or those that TOML reads local times in.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.zone, &other.zone) {
            (None, None) => true,
            (Some(one), Some(two)) => {
                Arc::ptr_eq(one, two)
                    || one.shared_hour().is_some_and(|hour| two.shared_hour() == Some(hour))
                    || one.name.ends_with(b"-local") && one == two
            }
            _ => false,
        }
    }
}

impl Zone {
    fn lookup(&self, unix: i64) -> Option<Span<'_>> {
        let after = self.changes.partition_point(|change| change.when <= unix);
        let end = self.changes.get(after).map_or(i64::MAX, |change| change.when);
        let Some(change) = after.checked_sub(1).and_then(|at| self.changes.get(at)) else {
            return self.first_kind().map(|kind| kind.span(i64::MIN, end));
        };
        match &self.rule {
            Some(rule) if after == self.changes.len() => Some(rule.lookup(change.when, unix)),
            _ => self.kinds.get(change.kind).map(|kind| kind.span(change.when, end)),
        }
    }

    /// What holds before the first change: a kind that no change leads to, else standard time.
    fn first_kind(&self) -> Option<&Kind> {
        let first = self.kinds.first()?;
        if !self.changes.iter().any(|change| change.kind == 0) {
            return Some(first);
        }
        let led_to = self.changes.first().map_or(0, |change| change.kind);
        let into_summer = self.kinds.get(led_to).is_some_and(|kind| kind.summer);
        let before = self.kinds.get(..if into_summer { led_to } else { 0 }).unwrap_or_default();
        let standard = before.iter().rev().chain(&self.kinds).find(|kind| !kind.summer);
        Some(standard.unwrap_or(first))
    }

    /// The hour of a nameless fixed zone of which Go keeps only one.
    fn shared_hour(&self) -> Option<i64> {
        match (&self.kinds[..], &self.changes[..]) {
            ([Kind { name, offset, .. }], [Change { when: i64::MIN, .. }])
                if self.name.is_empty() && name.is_empty() && offset % 3600 == 0 =>
            {
                Some(offset / 3600).filter(|hour| (-12..=14).contains(hour))
            }
            _ => None,
        }
    }
}
