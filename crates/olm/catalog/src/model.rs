//! Catalog model: packages with channels and bundles, and opm's validation.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use podium_versions::blang::{Range, Version};

use crate::compat::OpmCompat;
use crate::declcfg;
use crate::error::{CatalogError, SourceSpan, format_list, quote};
use crate::release::VersionRelease;
use crate::summary::{
    BundleSummary, CatalogSummary, ChannelEntry, ChannelSummary, DeprecationSummary, PackageSummary, error_at,
};
use crate::validation::ValidationError;

/// A package.
#[derive(Clone, Debug)]
pub struct Package {
    /// Name.
    pub name: String,
    /// Default channel, if set.
    pub default_channel: Option<String>,
    /// Channels by name.
    pub channels: BTreeMap<String, Channel>,
    /// Deprecation message, if deprecated.
    pub deprecation: Option<String>,
    span: SourceSpan,
}

/// A channel.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    /// Name.
    pub name: String,
    /// Bundles by name.
    pub bundles: BTreeMap<String, Bundle>,
    /// Deprecation message, if deprecated.
    pub deprecation: Option<String>,
    span: SourceSpan,
}

/// A bundle in a channel.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    /// Channel entry with the upgrade edges.
    pub entry: ChannelEntry,
    /// Version; 0.0.0 if there is no `olm.bundle` blob.
    pub version: VersionRelease,
    /// Image reference.
    pub image: String,
    /// Deprecation message, if deprecated.
    pub deprecation: Option<String>,
    has_objects: bool,
    has_meta: bool,
    span: SourceSpan,
}

/// Packages of a catalog by name.
pub type Model = BTreeMap<String, Package>;

/// Builds and validates the model. opm reports several errors in random order; here they are sorted.
pub fn convert_to_model(summary: &CatalogSummary, compat: OpmCompat) -> Result<Model, CatalogError> {
    let mut model = Model::new();
    summary.packages.iter().try_for_each(|package| add_package(&mut model, package))?;
    let mut unmatched_entries: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for channel in &summary.channels {
        add_channel(&mut model, channel)?;
        // Like opm, considers only the last channel of a package here.
        unmatched_entries
            .insert(&channel.package, channel.entries.iter().map(|entry| entry.name.as_str()).collect());
    }
    let mut bundle_names: HashMap<&str, HashSet<&str>> = HashMap::new();
    for bundle in &summary.bundles {
        add_bundle(&mut model, bundle, &mut bundle_names)?;
        if let Some(unmatched_entries) = unmatched_entries.get_mut(bundle.package.as_str()) {
            unmatched_entries.remove(bundle.name.as_str());
        }
    }
    for (package, unmatched) in unmatched_entries {
        if !unmatched.is_empty() {
            let channel = summary.channels.iter().rfind(|channel| channel.package == package);
            let text = format!(
                "no olm.bundle blobs found in package {} for olm.channel entries {}",
                quote(package),
                format_list(unmatched)
            );
            return Err(error_at(&channel.map(|channel| channel.span.clone()).unwrap_or_default(), text));
        }
    }
    for package in model.values_mut() {
        if let Some(name) = &package.default_channel
            && !package.channels.contains_key(name)
        {
            let channel = Channel { name: name.clone(), span: package.span.clone(), ..Channel::default() };
            package.channels.insert(name.clone(), channel);
        }
    }
    add_deprecations(&mut model, &summary.deprecations, &bundle_names, compat)?;
    let mut errors = ValidationError::new("invalid index", SourceSpan::default());
    model.values().for_each(|package| errors.push_if_invalid(package.validate(compat)));
    errors.into_catalog_error().map_or(Ok(model), Err)
}

fn add_package(model: &mut Model, summary: &PackageSummary) -> Result<(), CatalogError> {
    let PackageSummary { name, default_channel, span } = summary;
    if name.is_empty() {
        return Err(error_at(span, "config contains package with no name"));
    }
    if model.contains_key(name) {
        return Err(error_at(span, format!("duplicate package {}", quote(name))));
    }
    let messages = validate_dns1123_label(name);
    if !messages.is_empty() {
        return Err(error_at(
            span,
            format!("invalid package name {}: {}", quote(name), format_list(messages)),
        ));
    }
    let package = Package {
        name: name.clone(),
        default_channel: Some(default_channel.clone()).filter(|name| !name.is_empty()),
        channels: BTreeMap::new(),
        deprecation: None,
        span: span.clone(),
    };
    model.insert(name.clone(), package);
    Ok(())
}

/// Returns the violations of the DNS-1123 label rules, with the messages of the Kubernetes version that opm
/// uses.
fn validate_dns1123_label(text: &str) -> Vec<String> {
    let is_lower_alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = |text: &str| {
        text.starts_with(is_lower_alphanumeric)
            && text.ends_with(is_lower_alphanumeric)
            && text.chars().all(|c| is_lower_alphanumeric(c) || c == '-')
    };
    let mut messages = Vec::new();
    if text.len() > 63 {
        messages.push("must be no more than 63 characters".to_owned());
    }
    if is_label(text) {
    } else if text.split('.').all(is_label) {
        messages.push("must not contain dots".to_owned());
    } else {
        messages.push(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
             end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    messages
}

fn add_channel(model: &mut Model, summary: &ChannelSummary) -> Result<(), CatalogError> {
    let (package, name) = (quote(&summary.package), quote(&summary.name));
    let reject = |text: String| Err(error_at(&summary.span, text));
    let Some(model_package) = model.get_mut(&summary.package) else {
        return reject(format!("unknown package {package} for channel {name}"));
    };
    if summary.name.is_empty() {
        return reject(format!("package {package} contains channel with no name"));
    }
    if model_package.channels.contains_key(&summary.name) {
        return reject(format!("package {package} has duplicate channel {name}"));
    }
    let mut channel =
        Channel { name: summary.name.clone(), span: summary.span.clone(), ..Channel::default() };
    for entry in &summary.entries {
        let span = SourceSpan::new(&summary.span.file, entry.line);
        let bundle = Bundle { entry: entry.clone(), span: span.clone(), ..Bundle::default() };
        if channel.bundles.insert(entry.name.clone(), bundle).is_some() {
            let entry = quote(&entry.name);
            return Err(error_at(
                &span,
                format!("invalid package {package}, channel {name}: duplicate entry {entry}"),
            ));
        }
    }
    model_package.channels.insert(summary.name.clone(), channel);
    Ok(())
}

fn add_bundle<'f>(
    model: &mut Model,
    summary: &'f BundleSummary,
    bundle_names: &mut HashMap<&'f str, HashSet<&'f str>>,
) -> Result<(), CatalogError> {
    let (package, name) = (quote(&summary.package), quote(&summary.name));
    let reject = |text: String| Err(error_at(&summary.span, text));
    if summary.package.is_empty() {
        return reject(format!("package name must be set for bundle {name}"));
    }
    let Some(model_package) = model.get_mut(&summary.package) else {
        return reject(format!("unknown package {package} for bundle {name}"));
    };
    if !bundle_names.entry(&summary.package).or_default().insert(&summary.name) {
        return reject(format!("package {package} has duplicate bundle {name}"));
    }
    let version = match &summary.version {
        Ok(version) => version,
        Err(invalid) => return Err(error_at(&invalid.0, invalid.1.clone())),
    };
    let mut found = false;
    for bundle in
        model_package.channels.values_mut().filter_map(|channel| channel.bundles.get_mut(&summary.name))
    {
        found = true;
        bundle.version = version.clone();
        bundle.image.clone_from(&summary.image);
        bundle.has_objects = summary.has_objects;
        bundle.has_meta = true;
        bundle.span = summary.span.clone();
    }
    if found {
        Ok(())
    } else {
        reject(format!("package {package}, bundle {name} not found in any channel entries"))
    }
}

fn add_deprecations(
    model: &mut Model,
    all: &[DeprecationSummary],
    bundle_names: &HashMap<&str, HashSet<&str>>,
    compat: OpmCompat,
) -> Result<(), CatalogError> {
    let mut seen = HashSet::new();
    for (index, summary) in all.iter().enumerate() {
        let reject = |text: String| Err(error_at(&summary.span, text));
        let package = quote(&summary.package);
        if summary.package.is_empty() {
            return reject(format!("package name must be set for deprecation item {index}"));
        }
        let Some(model_package) = model.get_mut(&summary.package) else {
            return reject(format!("cannot apply deprecations to an unknown package {package}"));
        };
        if !seen.insert(&summary.package) {
            return reject(format!("expected a maximum of one deprecation per package: {package}"));
        }
        let mut references = HashSet::new();
        for (index, entry) in summary.entries.iter().enumerate() {
            let span = SourceSpan::new(&summary.span.file, entry.line);
            let reject = |text: String| Err(error_at(&span, text));
            let name = quote(&entry.name);
            let reference =
                || format!("declcfg.PackageScopedReference{{Schema:{}, Name:{name}}}", quote(&entry.schema));
            if entry.schema.is_empty() {
                return reject(match compat {
                    OpmCompat::V173 => {
                        format!("schema must be set for deprecation entry [{index}] for package {package}")
                    }
                    // opm 1.51 swaps the two arguments.
                    OpmCompat::V151 => {
                        let rune = podium_gotmpl::gostr::quote_rune(u32::try_from(index).unwrap_or(u32::MAX));
                        let rune = String::from_utf8_lossy(&rune).into_owned();
                        format!(
                            "schema must be set for deprecation entry [{}] for package {rune}",
                            summary.package
                        )
                    }
                });
            }
            if !references.insert((&entry.schema, &entry.name)) {
                return reject(format!("duplicate deprecation entry {} for package {package}", reference()));
            }
            let message = Some(entry.message.clone());
            match entry.schema.as_str() {
                declcfg::SCHEMA_BUNDLE => {
                    if !bundle_names
                        .get(summary.package.as_str())
                        .is_some_and(|set| set.contains(entry.name.as_str()))
                    {
                        return reject(format!(
                            "cannot deprecate bundle {name} for package {package}: bundle not found"
                        ));
                    }
                    for channel in model_package.channels.values_mut() {
                        if let Some(bundle) = channel.bundles.get_mut(&entry.name) {
                            bundle.deprecation.clone_from(&message);
                        }
                    }
                }
                declcfg::SCHEMA_CHANNEL => match model_package.channels.get_mut(&entry.name) {
                    Some(channel) => channel.deprecation = message,
                    None => {
                        return reject(format!(
                            "cannot deprecate channel {name} for package {package}: channel not found"
                        ));
                    }
                },
                declcfg::SCHEMA_PACKAGE => {
                    if !entry.name.is_empty() {
                        return reject(format!(
                            "package name must be empty for deprecated package {package} (specified {name})"
                        ));
                    }
                    model_package.deprecation = message;
                }
                _ => {
                    return reject(format!(
                        "cannot deprecate object {} referenced by entry {index} for package {package}: object schema \
                         unknown",
                        reference()
                    ));
                }
            }
        }
    }
    Ok(())
}

fn validate_deprecation(errors: &mut ValidationError, deprecation: Option<&String>) {
    if deprecation.is_some_and(String::is_empty) {
        errors.add("invalid deprecation: message must be set");
    }
}

impl Package {
    fn validate(&self, compat: OpmCompat) -> ValidationError {
        let mut errors =
            ValidationError::new(format!("invalid package {}", quote(&self.name)), self.span.clone());
        if self.default_channel.is_none() {
            errors.add("default channel must be set");
        }
        if self.channels.is_empty() {
            errors.add("package must contain at least one channel");
        }
        self.channels
            .values()
            .for_each(|channel| errors.push_if_invalid(channel.validate(&self.name, compat)));
        self.validate_unique_versions(&mut errors, compat);
        validate_deprecation(&mut errors, self.deprecation.as_ref());
        errors
    }

    /// Rejects bundles with the same version.
    fn validate_unique_versions(&self, errors: &mut ValidationError, compat: OpmCompat) {
        let mut versions: BTreeMap<String, (&Version, BTreeSet<&str>)> = BTreeMap::new();
        for (name, bundle) in self.channels.values().flat_map(|channel| &channel.bundles) {
            let version = &bundle.version;
            versions.entry(version.to_string()).or_insert((&version.version, BTreeSet::new())).1.insert(name);
        }
        let mut sorted: Vec<_> = versions.into_iter().collect();
        if compat == OpmCompat::V151 {
            sorted.sort_by(|a, b| a.1.0.compare(b.1.0));
        }
        let duplicates: Vec<String> = sorted
            .into_iter()
            .filter(|(_, (_, bundle_names))| bundle_names.len() > 1)
            .map(|(version, (_, bundle_names))| {
                format!("{{{version}: [{}]}}", bundle_names.into_iter().collect::<Vec<_>>().join(", "))
            })
            .collect();
        if !duplicates.is_empty() {
            errors.add(format!("duplicate versions found in bundles: {}", format_list(duplicates)));
        }
    }
}

impl Channel {
    /// Returns the channel head: the bundle that no other bundle replaces or skips. An error is opm's
    /// message.
    pub fn head(&self) -> Result<&Bundle, String> {
        let mut incoming = HashSet::new();
        for bundle in self.bundles.values() {
            if !bundle.entry.replaces.is_empty() {
                incoming.insert(&bundle.entry.replaces);
            }
            incoming.extend(&bundle.entry.skips);
        }
        let heads: Vec<_> = self.bundles.iter().filter(|(name, _)| !incoming.contains(name)).collect();
        match heads.as_slice() {
            [] => Err("no channel head found in graph".to_owned()),
            [(_, head)] => Ok(head),
            several => {
                let bundle_names: Vec<&str> = several.iter().map(|(name, _)| name.as_str()).collect();
                Err(format!("multiple channel heads found in graph: {}", bundle_names.join(", ")))
            }
        }
    }

    fn validate(&self, package: &str, compat: OpmCompat) -> ValidationError {
        let mut errors =
            ValidationError::new(format!("invalid channel {}", quote(&self.name)), self.span.clone());
        if self.bundles.is_empty() {
            errors.add("channel must contain at least one bundle");
        } else if let Err(text) = self.validate_replaces_chain(compat) {
            errors.add(text);
        }
        self.bundles.values().for_each(|bundle| errors.push_if_invalid(bundle.validate(package, compat)));
        validate_deprecation(&mut errors, self.deprecation.as_ref());
        errors
    }

    /// Checks that the `replaces` chain from the channel head has no cycle and reaches every bundle that is
    /// not skipped.
    fn validate_replaces_chain(&self, compat: OpmCompat) -> Result<(), String> {
        let head = self.head()?;
        let skipped: HashSet<&str> =
            self.bundles.values().flat_map(|bundle| &bundle.entry.skips).map(String::as_str).collect();
        let mut chain = vec![head.entry.name.as_str()];
        let mut visited: HashSet<&str> = chain.iter().copied().collect();
        let mut current = Some(head);
        while let Some(bundle) = current {
            let next = bundle.entry.replaces.as_str();
            if compat == OpmCompat::V173 && skipped.contains(next) {
                break;
            }
            if !visited.insert(next) {
                let start = chain.iter().position(|name| *name == next).unwrap_or_default();
                chain.push(next);
                let cycle = chain.get(start..).unwrap_or_default();
                return Err(format!(
                    "detected cycle in replaces chain of upgrade graph: {}",
                    cycle.join(" -> ")
                ));
            }
            chain.push(next);
            current = self.bundles.get(next);
        }
        let unvisited: Vec<&str> =
            self.bundles.keys().map(String::as_str).filter(|n| !visited.contains(n)).collect();
        let stranded: Vec<&str> = unvisited.into_iter().filter(|name| !skipped.contains(name)).collect();
        if stranded.is_empty() {
            Ok(())
        } else {
            Err(format!("channel contains one or more stranded bundles: {}", stranded.join(", ")))
        }
    }
}

impl Bundle {
    fn validate(&self, package: &str, compat: OpmCompat) -> ValidationError {
        let ChannelEntry { name, skips, skip_range, .. } = &self.entry;
        let mut errors = ValidationError::new(format!("invalid bundle {}", quote(name)), self.span.clone());
        if name.is_empty() {
            errors.add("name must be set");
        }
        let has_release = !self.version.release.is_empty();
        let normalized_name = format!("{package}-v{}", self.version);
        if has_release && *name != normalized_name {
            errors.add(format!(
                "name {} does not match normalized name {}",
                quote(name),
                quote(&normalized_name)
            ));
        }
        for (index, _) in skips.iter().enumerate().filter(|(_, skip)| skip.is_empty()) {
            errors.add(format!("skip[{index}] is empty"));
        }
        if compat == OpmCompat::V173
            && !skip_range.is_empty()
            && let Err(error) = Range::parse(skip_range)
        {
            errors.add(format!("invalid skipRange {}: {error}", quote(skip_range)));
        }
        if !self.has_meta {
            errors.add("must be exactly one property with type \"olm.package\"");
        }
        if self.image.is_empty() && !self.has_objects {
            errors.add("bundle image must be set");
        }
        validate_deprecation(&mut errors, self.deprecation.as_ref());
        if has_release && !self.version.version.build.is_empty() {
            errors.add("cannot use build metadata in version with a release version");
        }
        errors
    }
}
