//! Kinds that Kubernetes gives up.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::objects::Object;
use crate::capabilities::{Capabilities, KubeVersion};

/// What Kubernetes' client library says of its own types: group and version, kind, since when it is deprecated, since
/// when it is gone, and what is there instead.
const TABLE: &str = include_str!("deprecated.txt");

struct Entry {
    since: (u64, u64),
    text: String,
}

fn table() -> &'static HashMap<(&'static str, &'static str), Entry> {
    static ENTRIES: OnceLock<HashMap<(&str, &str), Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(entry).collect())
}

fn entry(line: &'static str) -> Option<((&'static str, &'static str), Entry)> {
    let mut words = line.split(' ');
    let (version, kind, since, gone) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let (major, minor) = since.split_once('.')?;
    let mut text = format!("{version} {kind} is deprecated in v{since}+");
    if gone != "-" {
        text.push_str(&format!(", unavailable in v{gone}+"));
    }
    if let (Some(version), Some(kind)) = (words.next(), words.next()) {
        text.push_str(&format!("; use {version} {kind}"));
    }
    Some(((version, kind), Entry { since: (major.parse().ok()?, minor.parse().ok()?), text }))
}

/// Complains of an object whose kind is deprecated in a version of Kubernetes.
pub(super) fn check(object: &Object, version: Option<&KubeVersion>) -> Result<(), String> {
    let Some(entry) = table().get(&(object.api_version.as_str(), object.kind.as_str())) else {
        return Ok(());
    };
    let usual;
    let version = match version {
        Some(version) => version,
        None => {
            usual = Capabilities::default().kube_version;
            &usual
        }
    };
    let number = |text: &str| {
        text.parse::<u64>()
            .map_err(|_| format!("strconv.Atoi: parsing {}: invalid syntax", crate::text::quote(text)))
    };
    let now = (number(&version.major)?, number(&version.minor)?);
    if now == (0, 0) || entry.since <= now { Err(entry.text.clone()) } else { Ok(()) }
}
