//! Which bundle would be installed, and why not each of the others.
//!
//! The rules are those of the lifecycle controller: bundles of the chosen channels in the wanted range which can follow
//! the installed one; those that are not deprecated first, then the highest version, then the name. Between catalogs the
//! priority decides, never the version.

mod package;
#[cfg(test)]
mod tests;

use podium_versions::{blang, masterminds};

use self::package::{CatalogPackage, bundle_version};
use crate::declcfg::{DeclarativeConfig, Meta};
use crate::error::{format_list, quote};
use crate::release::VersionRelease;
use crate::summary::ChannelEntry;

/// A catalog to choose from.
#[derive(Clone, Copy, Debug)]
pub struct Catalog<'c> {
    /// Its name.
    pub name: &'c str,
    /// The higher, the better.
    pub priority: i32,
    /// Its documents.
    pub config: &'c DeclarativeConfig,
}

/// What is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstalledBundle {
    /// The name of the bundle.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct ResolveRequest {
    /// The package.
    pub package: String,
    /// The channels to choose from; all if there are none.
    pub channels: Vec<String>,
    /// The range of versions, in the grammar of Masterminds; any if it is empty.
    pub version: String,
    /// What is installed.
    pub installed: Option<InstalledBundle>,
    /// Whether any version may follow the installed one (`SelfCertified`).
    pub self_certified: bool,
}

/// What would happen.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// The bundle, or why there is none, in the controller's words.
    pub bundle: Result<ResolvedBundle, String>,
    /// All bundles of the package, the best first, each with the reason.
    pub candidates: Vec<Candidate>,
}

/// The bundle that would be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedBundle {
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
    pub rejection: Option<String>,
}

/// A bundle while it is compared.
struct CandidateBundle<'c> {
    catalog: Catalog<'c>,
    meta: &'c Meta,
    version_text: String,
    version: Result<VersionRelease, String>,
    deprecated: bool,
    deprecation: Option<String>,
    rejection: Option<String>,
}

/// Chooses.
pub fn resolve(catalogs: &[Catalog<'_>], request: &ResolveRequest) -> Resolution {
    let nothing = |text: String| Resolution { bundle: Err(text), candidates: Vec::new() };
    let range = match request.version.as_str() {
        "" => None,
        text => match masterminds::Constraints::new(text) {
            Ok(range) => Some(range),
            Err(error) => {
                return nothing(format!("desired version range {} is invalid: {error}", quote(text)));
            }
        },
    };
    let installed = request.installed.as_ref().filter(|_| !request.self_certified);
    let installed = installed.map(|installed| (installed, VersionRelease::legacy(&installed.version)));
    let mut best_per_catalog: Vec<CandidateBundle<'_>> = Vec::new();
    let mut rejected: Vec<CandidateBundle<'_>> = Vec::new();
    for catalog in catalogs {
        // What is installed does not matter to a catalog without the package.
        let Some(package) = CatalogPackage::from_config(catalog.config, &request.package) else { continue };
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
        let mut candidate = evaluate_bundles(*catalog, &package, request, range.as_ref(), installed);
        candidate.sort_by(|a, b| {
            let key = |candidate: &CandidateBundle<'_>| (candidate.rejection.is_some(), candidate.deprecated);
            key(a).cmp(&key(b)).then_with(|| match (&a.version, &b.version) {
                (Ok(a), Ok(b)) => b.compare(a),
                (a, b) => a.is_err().cmp(&b.is_err()),
            })
        });
        let mut candidate = candidate.into_iter();
        let Some(mut first) = candidate.next() else { continue };
        let mut outranked: Vec<CandidateBundle<'_>> = candidate.collect();
        if first.rejection.is_some() {
            outranked.insert(0, first);
        } else {
            let reason = |other: &CandidateBundle<'_>| outranked_reason(other, &first);
            let reasons: Vec<String> = outranked.iter().map(reason).collect();
            for (other, reason) in outranked.iter_mut().zip(reasons) {
                other.rejection.get_or_insert(reason);
            }
            // A deprecated bundle does not come beside one that is not.
            let previous_deprecated = best_per_catalog.last().map(|package| package.deprecated);
            match (first.deprecated, previous_deprecated) {
                (true, Some(false)) => {
                    first.rejection =
                        Some("it is deprecated, and another catalog has one that is not".to_owned());
                    outranked.insert(0, first);
                }
                (false, Some(true)) => {
                    for mut package in best_per_catalog.drain(..) {
                        package.rejection =
                            Some("it is deprecated, and another catalog has one that is not".to_owned());
                        rejected.push(package);
                    }
                    best_per_catalog.push(first);
                }
                _ => best_per_catalog.push(first),
            }
        }
        rejected.append(&mut outranked);
    }
    select_by_priority(best_per_catalog, rejected, request)
}

/// The last step: between catalogs.
fn select_by_priority<'c>(
    mut best_per_catalog: Vec<CandidateBundle<'c>>,
    mut rejected: Vec<CandidateBundle<'c>>,
    request: &ResolveRequest,
) -> Resolution {
    best_per_catalog.sort_by_key(|candidate| std::cmp::Reverse(candidate.catalog.priority));
    let is_tied = best_per_catalog
        .iter()
        .zip(best_per_catalog.iter().skip(1))
        .next()
        .is_some_and(|(a, b)| a.catalog.priority == b.catalog.priority);
    let mut tied_catalogs: Vec<String> = Vec::new();
    if is_tied {
        tied_catalogs = best_per_catalog.iter().map(|candidate| candidate.catalog.name.to_owned()).collect();
        tied_catalogs.sort();
        for mut candidate in best_per_catalog.drain(..).rev() {
            candidate.rejection = Some("another catalog with the same priority has one too".to_owned());
            rejected.insert(0, candidate);
        }
    } else if best_per_catalog.len() > 1 {
        for mut candidate in best_per_catalog.drain(1..).rev() {
            candidate.rejection = Some("a catalog with a higher priority has one".to_owned());
            rejected.insert(0, candidate);
        }
    }
    let bundle = match best_per_catalog.first() {
        Some(candidate) => validate_resolved(candidate),
        None => Err(not_found_message(request, is_tied, &tied_catalogs)),
    };
    let candidate = |candidate: CandidateBundle<'_>| Candidate {
        catalog: candidate.catalog.name.to_owned(),
        bundle: candidate.meta.header.name.clone(),
        version: candidate.version_text,
        rejection: candidate.rejection,
    };
    let mut candidates: Vec<Candidate> = best_per_catalog.into_iter().map(candidate).collect();
    if let (Err(text), Some(first)) = (&bundle, candidates.first_mut()) {
        first.rejection = Some(text.clone());
    }
    candidates.extend(rejected.into_iter().map(candidate));
    Resolution { bundle, candidates }
}

/// What the controller still asks of the one that was chosen.
fn validate_resolved(candidate: &CandidateBundle<'_>) -> Result<ResolvedBundle, String> {
    let name = quote(&candidate.meta.header.name);
    if let Err(why) = &candidate.version {
        return Err(format!("error getting resolved bundle version for bundle {name}: {why}"));
    }
    for property in candidate.meta.properties() {
        if matches!(&*property.ty, "olm.package.required" | "olm.gvk.required" | "olm.constraint") {
            return Err(format!(
                "validating bundle {name}: bundle {name} has a dependency declared via property {} which is currently \
                 not supported",
                quote(&property.ty)
            ));
        }
    }
    Ok(ResolvedBundle {
        catalog: candidate.catalog.name.to_owned(),
        bundle: candidate.meta.header.name.clone(),
        version: candidate.version_text.clone(),
        image: candidate.meta.string("image").into_owned(),
        deprecation: candidate.deprecation.clone(),
    })
}

/// The controller's words for nothing to install.
fn not_found_message(request: &ResolveRequest, candidate: bool, catalogs: &[String]) -> String {
    let mut text = String::new();
    if let Some(installed) = &request.installed {
        text += &format!("error upgrading from currently installed version {}: ", quote(&installed.version));
    }
    let package = quote(&request.package);
    text += &if candidate {
        format!("found bundles for package {package} ")
    } else {
        format!("no bundles found for package {package} ")
    };
    if !request.version.is_empty() {
        text += &format!("matching version {} ", quote(&request.version));
    }
    if !request.channels.is_empty() {
        text += &format!("in channels {} ", format_list(&request.channels));
    }
    if !catalogs.is_empty() {
        text += &format!("in multiple catalogs with the same priority {} ", format_list(catalogs));
    }
    text.trim().to_owned()
}

/// Why one that would have been fine is not the one.
fn outranked_reason(other: &CandidateBundle<'_>, winner: &CandidateBundle<'_>) -> String {
    let name = &winner.meta.header.name;
    match (&other.version, &winner.version) {
        _ if other.deprecated && !winner.deprecated => format!("it is deprecated, and {name} is not"),
        (Err(_), _) => "its version cannot be read".to_owned(),
        (Ok(entries), Ok(higher)) if entries.compare(higher).is_eq() => {
            format!("{name} has the same version, and a name that comes first")
        }
        _ => format!("{name} has a higher version"),
    }
}

/// All bundles of the package, each with what speaks against it.
fn evaluate_bundles<'c>(
    catalog: Catalog<'c>,
    package: &CatalogPackage<'c>,
    request: &ResolveRequest,
    range: Option<&masterminds::Constraints>,
    installed: Option<(&InstalledBundle, &VersionRelease)>,
) -> Vec<CandidateBundle<'c>> {
    let candidate = |meta: &&'c Meta| {
        let name = &meta.header.name;
        let (version_text, version) = bundle_version(meta);
        let mut candidate = CandidateBundle {
            catalog,
            meta,
            version_text,
            version,
            deprecated: package.is_deprecated(name),
            deprecation: package.deprecation(&request.channels, name),
            rejection: None,
        };
        candidate.rejection = rejection_reason(
            &candidate,
            request,
            range,
            installed,
            &package.entries(&request.channels, name),
        );
        candidate
    };
    package.bundles.iter().map(candidate).collect()
}

fn rejection_reason(
    candidate: &CandidateBundle<'_>,
    request: &ResolveRequest,
    range: Option<&masterminds::Constraints>,
    installed: Option<(&InstalledBundle, &VersionRelease)>,
    entries: &[&ChannelEntry],
) -> Option<String> {
    if !request.channels.is_empty() && entries.is_empty() {
        return Some(format!("it is in none of the channels {}", format_list(&request.channels)));
    }
    if let Some(range) = range {
        let Ok(VersionRelease { version, .. }) = &candidate.version else {
            return Some("its version cannot be read".to_owned());
        };
        let pre: Vec<String> = version.pre.iter().map(ToString::to_string).collect();
        let version = masterminds::Version::of(version.major, version.minor, version.patch, &pre.join("."));
        if !range.check(&version) {
            return Some(format!("version {} is not in {}", candidate.version_text, request.version));
        }
    }
    if let Some((installed, version)) = installed {
        let same_version = candidate.version.as_ref().is_ok_and(|entries| entries.compare(version).is_eq());
        let is_successor = entries.iter().any(|entry| {
            entry.replaces == installed.name
                || entry.skips.contains(&installed.name)
                || blang::Range::parse(&entry.skip_range).is_ok_and(|range| range.contains(&version.version))
        });
        if !same_version && !is_successor {
            return Some(format!("nothing leads from {} ({}) to it", installed.name, installed.version));
        }
    }
    None
}
