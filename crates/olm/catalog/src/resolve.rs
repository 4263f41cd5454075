//! Resolves the bundle to install like operator-controller, with the reason for each rejected candidate.
//!
//! Candidates are the bundles of the requested channels in the version range that are successors of the
//! installed bundle. Bundles that are not deprecated are preferred, then the highest version, then the name.
//! Between catalogs only the priority decides, never the version.

mod package;
#[cfg(test)]
mod tests;

use podium_versions::{blang, masterminds};

use self::package::{CatalogPackage, bundle_version};
use crate::declcfg::{DeclarativeConfig, Meta};
use crate::error::{format_list, quote};
use crate::release::VersionRelease;
use crate::summary::ChannelEntry;

/// A catalog to resolve from.
#[derive(Clone, Copy, Debug)]
pub struct Catalog<'c> {
    /// Name.
    pub name: &'c str,
    /// Priority; higher wins.
    pub priority: i32,
    /// Content.
    pub config: &'c DeclarativeConfig,
}

/// The installed bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstalledBundle {
    /// Bundle name.
    pub name: String,
    /// Version.
    pub version: String,
}

/// What to resolve.
#[derive(Clone, Debug, Default)]
pub struct ResolveRequest {
    /// Package name.
    pub package: String,
    /// Channels to consider; all if empty.
    pub channels: Vec<String>,
    /// Version range in Masterminds syntax; any version if empty.
    pub version: String,
    /// Installed bundle, if any.
    pub installed: Option<InstalledBundle>,
    /// Whether upgrade edges are ignored (upgrade constraint policy `SelfCertified`).
    pub self_certified: bool,
}

/// Result of [`resolve`].
#[derive(Clone, Debug)]
pub struct Resolution {
    /// Resolved bundle, or operator-controller's error message.
    pub bundle: Result<ResolvedBundle, String>,
    /// All bundles of the package, best first, with the reason for rejection.
    pub candidates: Vec<Candidate>,
}

/// The bundle to install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedBundle {
    /// Catalog name.
    pub catalog: String,
    /// Bundle name.
    pub bundle: String,
    /// Version, including the release.
    pub version: String,
    /// Image reference.
    pub image: String,
    /// Deprecation messages of package, channels and bundle.
    pub deprecation: Option<String>,
}

/// A considered bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Catalog name.
    pub catalog: String,
    /// Bundle name.
    pub bundle: String,
    /// Version text.
    pub version: String,
    /// Why the bundle is not installed; nothing for the resolved bundle.
    pub rejection: Option<String>,
}

/// A bundle during resolution.
struct CandidateBundle<'c> {
    catalog: Catalog<'c>,
    meta: &'c Meta,
    version_text: String,
    version: Result<VersionRelease, String>,
    deprecated: bool,
    deprecation: Option<String>,
    rejection: Option<String>,
}

/// Resolves the bundle to install.
pub fn resolve(catalogs: &[Catalog<'_>], request: &ResolveRequest) -> Resolution {
    let unresolved = |text: String| Resolution { bundle: Err(text), candidates: Vec::new() };
    let range = match request.version.as_str() {
        "" => None,
        text => match masterminds::Constraints::new(text) {
            Ok(range) => Some(range),
            Err(error) => {
                return unresolved(format!("desired version range {} is invalid: {error}", quote(text)));
            }
        },
    };
    let installed = request.installed.as_ref().filter(|_| !request.self_certified);
    let installed = installed.map(|installed| (installed, VersionRelease::legacy(&installed.version)));
    let mut best_per_catalog: Vec<CandidateBundle<'_>> = Vec::new();
    let mut rejected: Vec<CandidateBundle<'_>> = Vec::new();
    for catalog in catalogs {
        // Catalogs without the package do not validate the installed version.
        let Some(package) = CatalogPackage::from_config(catalog.config, &request.package) else { continue };
        let installed = match &installed {
            None => None,
            Some((installed, Ok(version))) => Some((*installed, version)),
            Some((_, Err(error))) => {
                return unresolved(format!(
                    "error walking catalogs: error finding upgrade edges: failed to get version and release of \
                     installed bundle: {error}"
                ));
            }
        };
        let mut candidates = evaluate_bundles(*catalog, &package, request, range.as_ref(), installed);
        candidates.sort_by(|a, b| {
            let key = |candidate: &CandidateBundle<'_>| (candidate.rejection.is_some(), candidate.deprecated);
            key(a).cmp(&key(b)).then_with(|| match (&a.version, &b.version) {
                (Ok(a), Ok(b)) => b.compare(a),
                (a, b) => a.is_err().cmp(&b.is_err()),
            })
        });
        let mut candidates = candidates.into_iter();
        let Some(mut first) = candidates.next() else { continue };
        let mut outranked: Vec<CandidateBundle<'_>> = candidates.collect();
        if first.rejection.is_some() {
            outranked.insert(0, first);
        } else {
            let reason = |other: &CandidateBundle<'_>| outranked_reason(other, &first);
            let reasons: Vec<String> = outranked.iter().map(reason).collect();
            for (other, reason) in outranked.iter_mut().zip(reasons) {
                other.rejection.get_or_insert(reason);
            }
            // A deprecated bundle does not compete with one that is not.
            let previous_deprecated = best_per_catalog.last().map(|candidate| candidate.deprecated);
            match (first.deprecated, previous_deprecated) {
                (true, Some(false)) => {
                    first.rejection =
                        Some("it is deprecated, and another catalog has a bundle that is not".to_owned());
                    outranked.insert(0, first);
                }
                (false, Some(true)) => {
                    for mut candidate in best_per_catalog.drain(..) {
                        candidate.rejection =
                            Some("it is deprecated, and another catalog has a bundle that is not".to_owned());
                        rejected.push(candidate);
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

/// Selects the catalog with the highest priority.
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
            candidate.rejection =
                Some("another catalog with the same priority has a matching bundle".to_owned());
            rejected.insert(0, candidate);
        }
    } else if best_per_catalog.len() > 1 {
        for mut candidate in best_per_catalog.drain(1..).rev() {
            candidate.rejection = Some("a catalog with a higher priority has a matching bundle".to_owned());
            rejected.insert(0, candidate);
        }
    }
    let bundle = match best_per_catalog.first() {
        Some(candidate) => validate_resolved(candidate),
        None => Err(not_found_message(request, is_tied, &tied_catalogs)),
    };
    let to_candidate = |candidate: CandidateBundle<'_>| Candidate {
        catalog: candidate.catalog.name.to_owned(),
        bundle: candidate.meta.header.name.clone(),
        version: candidate.version_text,
        rejection: candidate.rejection,
    };
    let mut candidates: Vec<Candidate> = best_per_catalog.into_iter().map(to_candidate).collect();
    if let (Err(text), Some(first)) = (&bundle, candidates.first_mut()) {
        first.rejection = Some(text.clone());
    }
    candidates.extend(rejected.into_iter().map(to_candidate));
    Resolution { bundle, candidates }
}

/// Runs operator-controller's final checks on the resolved bundle.
fn validate_resolved(candidate: &CandidateBundle<'_>) -> Result<ResolvedBundle, String> {
    let name = quote(&candidate.meta.header.name);
    if let Err(error) = &candidate.version {
        return Err(format!("error getting resolved bundle version for bundle {name}: {error}"));
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

/// Formats operator-controller's error for no or ambiguous bundles.
fn not_found_message(request: &ResolveRequest, found: bool, catalogs: &[String]) -> String {
    let mut text = String::new();
    if let Some(installed) = &request.installed {
        text += &format!("error upgrading from currently installed version {}: ", quote(&installed.version));
    }
    let package = quote(&request.package);
    text += &if found {
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

/// Explains why a matching bundle is not the best one.
fn outranked_reason(other: &CandidateBundle<'_>, winner: &CandidateBundle<'_>) -> String {
    let name = &winner.meta.header.name;
    match (&other.version, &winner.version) {
        _ if other.deprecated && !winner.deprecated => format!("it is deprecated, and {name} is not"),
        (Err(_), _) => "its version is invalid".to_owned(),
        (Ok(version), Ok(higher)) if version.compare(higher).is_eq() => {
            format!("{name} has the same version and sorts first")
        }
        _ => format!("{name} has a higher version"),
    }
}

/// Evaluates all bundles of a package against the request.
fn evaluate_bundles<'c>(
    catalog: Catalog<'c>,
    package: &CatalogPackage<'c>,
    request: &ResolveRequest,
    range: Option<&masterminds::Constraints>,
    installed: Option<(&InstalledBundle, &VersionRelease)>,
) -> Vec<CandidateBundle<'c>> {
    let evaluate = |meta: &&'c Meta| {
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
    package.bundles.iter().map(evaluate).collect()
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
            return Some("its version is invalid".to_owned());
        };
        let pre: Vec<String> = version.pre.iter().map(ToString::to_string).collect();
        let version = masterminds::Version::of(version.major, version.minor, version.patch, &pre.join("."));
        if !range.check(&version) {
            return Some(format!("version {} is not in {}", candidate.version_text, request.version));
        }
    }
    if let Some((installed, version)) = installed {
        let same_version = candidate.version.as_ref().is_ok_and(|own| own.compare(version).is_eq());
        let is_successor = entries.iter().any(|entry| {
            entry.replaces == installed.name
                || entry.skips.contains(&installed.name)
                || blang::Range::parse(&entry.skip_range).is_ok_and(|range| range.contains(&version.version))
        });
        if !same_version && !is_successor {
            return Some(format!(
                "no upgrade edge leads from {} ({}) to it",
                installed.name, installed.version
            ));
        }
    }
    None
}
