//! Which bundle would be installed, and why not each of the others.
//!
//! The rules are those of the lifecycle controller: bundles of the chosen channels in the wanted range which can follow
//! the installed one; those that are not deprecated first, then the highest version, then the name. Between catalogs the
//! priority decides, never the version.

mod kept;
#[cfg(test)]
mod tests;

use podium_versions::{blang, masterminds};

use self::kept::{Package, version};
use crate::config::{Config, Meta};
use crate::facts::Entry;
use crate::problem::{listed, quoted};
use crate::release::VersionRelease;

/// A catalog to choose from.
#[derive(Clone, Copy, Debug)]
pub struct Catalog<'c> {
    /// Its name.
    pub name: &'c str,
    /// The higher, the better.
    pub priority: i32,
    /// Its documents.
    pub config: &'c Config,
}

/// What is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installed {
    /// The name of the bundle.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// The package.
    pub package: String,
    /// The channels to choose from; all if there are none.
    pub channels: Vec<String>,
    /// The range of versions, in the grammar of Masterminds; any if it is empty.
    pub version: String,
    /// What is installed.
    pub installed: Option<Installed>,
    /// Whether any version may follow the installed one (`SelfCertified`).
    pub any_upgrade: bool,
}

/// What would happen.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The bundle, or why there is none, in the controller's words.
    pub chosen: Result<Chosen, String>,
    /// All bundles of the package, the best first, each with the reason.
    pub candidates: Vec<Candidate>,
}

/// The bundle that would be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The catalog.
    pub catalog: String,
    /// The bundle.
    pub bundle: String,
    /// Its version; its release is part of it.
    pub version: String,
    /// Its image.
    pub image: String,
    /// What users are told, if the package, one of the channels or the bundle is deprecated.
    pub deprecation: Option<String>,
}

/// A bundle that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The catalog.
    pub catalog: String,
    /// The bundle.
    pub bundle: String,
    /// Its version, as it is written.
    pub version: String,
    /// Why it would not be installed; nothing for the one that would.
    pub why_not: Option<String>,
}

/// A bundle while it is compared.
struct Found<'c> {
    catalog: Catalog<'c>,
    meta: &'c Meta,
    written: String,
    version: Result<VersionRelease, String>,
    deprecated: bool,
    deprecation: Option<String>,
    why_not: Option<String>,
}

/// Chooses.
pub fn resolve(catalogs: &[Catalog<'_>], wish: &Wish) -> Outcome {
    let nothing = |text: String| Outcome { chosen: Err(text), candidates: Vec::new() };
    let range = match wish.version.as_str() {
        "" => None,
        text => match masterminds::Constraints::new(text) {
            Ok(range) => Some(range),
            Err(error) => {
                return nothing(format!("desired version range {} is invalid: {error}", quoted(text)));
            }
        },
    };
    let installed = wish.installed.as_ref().filter(|_| !wish.any_upgrade);
    let installed = installed.map(|installed| (installed, VersionRelease::legacy(&installed.version)));
    let mut best: Vec<Found<'_>> = Vec::new();
    let mut rest: Vec<Found<'_>> = Vec::new();
    for catalog in catalogs {
        // What is installed does not matter to a catalog without the package.
        let Some(package) = Package::of(catalog.config, &wish.package) else { continue };
        let installed = match &installed {
            None => None,
            Some((installed, Ok(version))) => Some((*installed, version)),
            Some((_, Err(error))) => {
                return nothing(format!(
                    "error walking catalogs: error finding upgrade edges: failed to get version and release of \
                     installed bundle: {error}"
                ));
            }
        };
        let mut found = look(*catalog, &package, wish, range.as_ref(), installed);
        found.sort_by(|a, b| {
            let key = |found: &Found<'_>| (found.why_not.is_some(), found.deprecated);
            key(a).cmp(&key(b)).then_with(|| match (&a.version, &b.version) {
                (Ok(a), Ok(b)) => b.compare(a),
                (a, b) => a.is_err().cmp(&b.is_err()),
            })
        });
        let mut found = found.into_iter();
        let Some(mut first) = found.next() else { continue };
        let mut others: Vec<Found<'_>> = found.collect();
        if first.why_not.is_some() {
            others.insert(0, first);
        } else {
            let reason = |other: &Found<'_>| beaten(other, &first);
            let reasons: Vec<String> = others.iter().map(reason).collect();
            for (other, reason) in others.iter_mut().zip(reasons) {
                other.why_not.get_or_insert(reason);
            }
            // A deprecated bundle does not come beside one that is not.
            let last = best.last().map(|kept| kept.deprecated);
            match (first.deprecated, last) {
                (true, Some(false)) => {
                    first.why_not =
                        Some("it is deprecated, and another catalog has one that is not".to_owned());
                    others.insert(0, first);
                }
                (false, Some(true)) => {
                    for mut kept in best.drain(..) {
                        kept.why_not =
                            Some("it is deprecated, and another catalog has one that is not".to_owned());
                        rest.push(kept);
                    }
                    best.push(first);
                }
                _ => best.push(first),
            }
        }
        rest.append(&mut others);
    }
    choose(best, rest, wish)
}

/// The last step: between catalogs.
fn choose<'c>(mut best: Vec<Found<'c>>, mut rest: Vec<Found<'c>>, wish: &Wish) -> Outcome {
    best.sort_by_key(|found| std::cmp::Reverse(found.catalog.priority));
    let tied = best
        .iter()
        .zip(best.iter().skip(1))
        .next()
        .is_some_and(|(a, b)| a.catalog.priority == b.catalog.priority);
    let mut names: Vec<String> = Vec::new();
    if tied {
        names = best.iter().map(|found| found.catalog.name.to_owned()).collect();
        names.sort();
        for mut found in best.drain(..).rev() {
            found.why_not = Some("another catalog with the same priority has one too".to_owned());
            rest.insert(0, found);
        }
    } else if best.len() > 1 {
        for mut found in best.drain(1..).rev() {
            found.why_not = Some("a catalog with a higher priority has one".to_owned());
            rest.insert(0, found);
        }
    }
    let chosen = match best.first() {
        Some(found) => finish(found),
        None => Err(none(wish, tied, &names)),
    };
    let candidate = |found: Found<'_>| Candidate {
        catalog: found.catalog.name.to_owned(),
        bundle: found.meta.head.name.clone(),
        version: found.written,
        why_not: found.why_not,
    };
    let mut candidates: Vec<Candidate> = best.into_iter().map(candidate).collect();
    if let (Err(text), Some(first)) = (&chosen, candidates.first_mut()) {
        first.why_not = Some(text.clone());
    }
    candidates.extend(rest.into_iter().map(candidate));
    Outcome { chosen, candidates }
}

/// What the controller still asks of the one that was chosen.
fn finish(found: &Found<'_>) -> Result<Chosen, String> {
    let name = quoted(&found.meta.head.name);
    if let Err(why) = &found.version {
        return Err(format!("error getting resolved bundle version for bundle {name}: {why}"));
    }
    for property in found.meta.properties() {
        if matches!(&*property.ty, "olm.package.required" | "olm.gvk.required" | "olm.constraint") {
            return Err(format!(
                "validating bundle {name}: bundle {name} has a dependency declared via property {} which is currently \
                 not supported",
                quoted(&property.ty)
            ));
        }
    }
    Ok(Chosen {
        catalog: found.catalog.name.to_owned(),
        bundle: found.meta.head.name.clone(),
        version: found.written.clone(),
        image: found.meta.string("image").into_owned(),
        deprecation: found.deprecation.clone(),
    })
}

/// The controller's words for nothing to install.
fn none(wish: &Wish, found: bool, catalogs: &[String]) -> String {
    let mut text = String::new();
    if let Some(installed) = &wish.installed {
        text += &format!("error upgrading from currently installed version {}: ", quoted(&installed.version));
    }
    let package = quoted(&wish.package);
    text += &if found {
        format!("found bundles for package {package} ")
    } else {
        format!("no bundles found for package {package} ")
    };
    if !wish.version.is_empty() {
        text += &format!("matching version {} ", quoted(&wish.version));
    }
    if !wish.channels.is_empty() {
        text += &format!("in channels {} ", listed(&wish.channels));
    }
    if !catalogs.is_empty() {
        text += &format!("in multiple catalogs with the same priority {} ", listed(catalogs));
    }
    text.trim().to_owned()
}

/// Why one that would have been fine is not the one.
fn beaten(other: &Found<'_>, winner: &Found<'_>) -> String {
    let name = &winner.meta.head.name;
    match (&other.version, &winner.version) {
        _ if other.deprecated && !winner.deprecated => format!("it is deprecated, and {name} is not"),
        (Err(_), _) => "its version cannot be read".to_owned(),
        (Ok(own), Ok(higher)) if own.compare(higher).is_eq() => {
            format!("{name} has the same version, and a name that comes first")
        }
        _ => format!("{name} has a higher version"),
    }
}

/// All bundles of the package, each with what speaks against it.
fn look<'c>(
    catalog: Catalog<'c>,
    package: &Package<'c>,
    wish: &Wish,
    range: Option<&masterminds::Constraints>,
    installed: Option<(&Installed, &VersionRelease)>,
) -> Vec<Found<'c>> {
    let found = |meta: &&'c Meta| {
        let name = &meta.head.name;
        let (written, version) = version(meta);
        let mut found = Found {
            catalog,
            meta,
            written,
            version,
            deprecated: package.is_deprecated(name),
            deprecation: package.deprecation(&wish.channels, name),
            why_not: None,
        };
        found.why_not = objection(&found, wish, range, installed, &package.entries(&wish.channels, name));
        found
    };
    package.bundles.iter().map(found).collect()
}

fn objection(
    found: &Found<'_>,
    wish: &Wish,
    range: Option<&masterminds::Constraints>,
    installed: Option<(&Installed, &VersionRelease)>,
    own: &[&Entry],
) -> Option<String> {
    if !wish.channels.is_empty() && own.is_empty() {
        return Some(format!("it is in none of the channels {}", listed(&wish.channels)));
    }
    if let Some(range) = range {
        let Ok(VersionRelease { version, .. }) = &found.version else {
            return Some("its version cannot be read".to_owned());
        };
        let pre: Vec<String> = version.pre.iter().map(ToString::to_string).collect();
        let version = masterminds::Version::of(version.major, version.minor, version.patch, &pre.join("."));
        if !range.check(&version) {
            return Some(format!("version {} is not in {}", found.written, wish.version));
        }
    }
    if let Some((installed, version)) = installed {
        let same = found.version.as_ref().is_ok_and(|own| own.compare(version).is_eq());
        let follows = own.iter().any(|entry| {
            entry.replaces == installed.name
                || entry.skips.contains(&installed.name)
                || blang::Range::parse(&entry.skip_range).is_ok_and(|range| range.contains(&version.version))
        });
        if !same && !follows {
            return Some(format!("nothing leads from {} ({}) to it", installed.name, installed.version));
        }
    }
    None
}
