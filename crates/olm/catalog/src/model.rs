//! Packages with their channels and bundles, and the rules that they have to keep.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use podium_versions::blang::{Range, Version};

use crate::config;
use crate::facts::{BundleFacts, ChannelFacts, DeprecationFacts, Entry, Facts, PackageFacts, problem};
use crate::generation::Generation;
use crate::problem::{Place, Problem, listed, quoted};
use crate::release::VersionRelease;
use crate::report::Report;

/// A package.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The channel for those who do not choose; none if the package does not say.
    pub default_channel: Option<String>,
    /// Its channels by name.
    pub channels: BTreeMap<String, Channel>,
    /// Why it should not be used, if so.
    pub deprecation: Option<String>,
    place: Place,
}

/// A channel.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// Its bundles by name.
    pub bundles: BTreeMap<String, Bundle>,
    /// Why it should not be used, if so.
    pub deprecation: Option<String>,
    place: Place,
}

/// A bundle in a channel.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    /// Its edges.
    pub entry: Entry,
    /// Its version; 0.0.0 if there is no document for it.
    pub version: VersionRelease,
    /// Its image.
    pub image: String,
    /// Why it should not be used, if so.
    pub deprecation: Option<String>,
    has_objects: bool,
    has_document: bool,
    place: Place,
}

/// The packages of a catalog by name.
pub type Model = BTreeMap<String, Package>;

/// Puts a catalog together and checks all rules. Where opm finds several faults at once, it names them in any order;
/// here they are sorted.
pub fn model(facts: &Facts, generation: Generation) -> Result<Model, Problem> {
    let mut model = Model::new();
    facts.packages.iter().try_for_each(|package| add_package(&mut model, package))?;
    let mut defined: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for channel in &facts.channels {
        add_channel(&mut model, channel)?;
        // As in opm, the last channel of a package is the only one that is looked at here.
        defined.insert(&channel.package, channel.entries.iter().map(|entry| entry.name.as_str()).collect());
    }
    let mut names: HashMap<&str, HashSet<&str>> = HashMap::new();
    for bundle in &facts.bundles {
        add_bundle(&mut model, bundle, &mut names)?;
        if let Some(defined) = defined.get_mut(bundle.package.as_str()) {
            defined.remove(bundle.name.as_str());
        }
    }
    for (package, left) in defined {
        if !left.is_empty() {
            let place = facts.channels.iter().rfind(|channel| channel.package == package);
            let text = format!(
                "no olm.bundle blobs found in package {} for olm.channel entries {}",
                quoted(package),
                listed(left)
            );
            return Err(problem(&place.map(|channel| channel.place.clone()).unwrap_or_default(), text));
        }
    }
    for package in model.values_mut() {
        if let Some(name) = &package.default_channel
            && !package.channels.contains_key(name)
        {
            let channel = Channel { name: name.clone(), place: package.place.clone(), ..Channel::default() };
            package.channels.insert(name.clone(), channel);
        }
    }
    add_deprecations(&mut model, &facts.deprecations, &names, generation)?;
    let mut report = Report::new("invalid index", Place::default());
    model.values().for_each(|package| report.take(package.check(generation)));
    report.into_problem().map_or(Ok(model), Err)
}

fn add_package(model: &mut Model, facts: &PackageFacts) -> Result<(), Problem> {
    let PackageFacts { name, default_channel, place } = facts;
    if name.is_empty() {
        return Err(problem(place, "config contains package with no name"));
    }
    if model.contains_key(name) {
        return Err(problem(place, format!("duplicate package {}", quoted(name))));
    }
    let wrong = label(name);
    if !wrong.is_empty() {
        return Err(problem(place, format!("invalid package name {}: {}", quoted(name), listed(wrong))));
    }
    let package = Package {
        name: name.clone(),
        default_channel: Some(default_channel.clone()).filter(|name| !name.is_empty()),
        channels: BTreeMap::new(),
        deprecation: None,
        place: place.clone(),
    };
    model.insert(name.clone(), package);
    Ok(())
}

/// What is wrong with a DNS label, in the words of Kubernetes' older rules.
fn label(text: &str) -> Vec<String> {
    let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = |text: &str| {
        text.starts_with(small) && text.ends_with(small) && text.chars().all(|c| small(c) || c == '-')
    };
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push("must be no more than 63 characters".to_owned());
    }
    if is_label(text) {
    } else if text.split('.').all(is_label) {
        wrong.push("must not contain dots".to_owned());
    } else {
        wrong.push(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
             end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    wrong
}

fn add_channel(model: &mut Model, facts: &ChannelFacts) -> Result<(), Problem> {
    let (package, name) = (quoted(&facts.package), quoted(&facts.name));
    let refuse = |text: String| Err(problem(&facts.place, text));
    let Some(owner) = model.get_mut(&facts.package) else {
        return refuse(format!("unknown package {package} for channel {name}"));
    };
    if facts.name.is_empty() {
        return refuse(format!("package {package} contains channel with no name"));
    }
    if owner.channels.contains_key(&facts.name) {
        return refuse(format!("package {package} has duplicate channel {name}"));
    }
    let mut channel = Channel { name: facts.name.clone(), place: facts.place.clone(), ..Channel::default() };
    for entry in &facts.entries {
        let place = Place::new(&facts.place.file, entry.line);
        let bundle = Bundle { entry: entry.clone(), place: place.clone(), ..Bundle::default() };
        if channel.bundles.insert(entry.name.clone(), bundle).is_some() {
            let entry = quoted(&entry.name);
            return Err(problem(
                &place,
                format!("invalid package {package}, channel {name}: duplicate entry {entry}"),
            ));
        }
    }
    owner.channels.insert(facts.name.clone(), channel);
    Ok(())
}

fn add_bundle<'f>(
    model: &mut Model,
    facts: &'f BundleFacts,
    names: &mut HashMap<&'f str, HashSet<&'f str>>,
) -> Result<(), Problem> {
    let (package, name) = (quoted(&facts.package), quoted(&facts.name));
    let refuse = |text: String| Err(problem(&facts.place, text));
    if facts.package.is_empty() {
        return refuse(format!("package name must be set for bundle {name}"));
    }
    let Some(owner) = model.get_mut(&facts.package) else {
        return refuse(format!("unknown package {package} for bundle {name}"));
    };
    if !names.entry(&facts.package).or_default().insert(&facts.name) {
        return refuse(format!("package {package} has duplicate bundle {name}"));
    }
    let version = match &facts.version {
        Ok(version) => version,
        Err(wrong) => return Err(problem(&wrong.0, wrong.1.clone())),
    };
    let mut found = false;
    for bundle in owner.channels.values_mut().filter_map(|channel| channel.bundles.get_mut(&facts.name)) {
        found = true;
        bundle.version = version.clone();
        bundle.image.clone_from(&facts.image);
        bundle.has_objects = facts.has_objects;
        bundle.has_document = true;
        bundle.place = facts.place.clone();
    }
    if found {
        Ok(())
    } else {
        refuse(format!("package {package}, bundle {name} not found in any channel entries"))
    }
}

fn add_deprecations(
    model: &mut Model,
    all: &[DeprecationFacts],
    names: &HashMap<&str, HashSet<&str>>,
    generation: Generation,
) -> Result<(), Problem> {
    let mut seen = HashSet::new();
    for (index, facts) in all.iter().enumerate() {
        let refuse = |text: String| Err(problem(&facts.place, text));
        let package = quoted(&facts.package);
        if facts.package.is_empty() {
            return refuse(format!("package name must be set for deprecation item {index}"));
        }
        let Some(owner) = model.get_mut(&facts.package) else {
            return refuse(format!("cannot apply deprecations to an unknown package {package}"));
        };
        if !seen.insert(&facts.package) {
            return refuse(format!("expected a maximum of one deprecation per package: {package}"));
        }
        let mut references = HashSet::new();
        for (at, entry) in facts.entries.iter().enumerate() {
            let place = Place::new(&facts.place.file, entry.line);
            let refuse = |text: String| Err(problem(&place, text));
            let name = quoted(&entry.name);
            let reference =
                || format!("declcfg.PackageScopedReference{{Schema:{}, Name:{name}}}", quoted(&entry.schema));
            if entry.schema.is_empty() {
                return refuse(match generation {
                    Generation::V173 => {
                        format!("schema must be set for deprecation entry [{at}] for package {package}")
                    }
                    // opm 1.51 has the two the wrong way round.
                    Generation::V151 => {
                        let rune = podium_gotmpl::gostr::quote_rune(u32::try_from(at).unwrap_or(u32::MAX));
                        let rune = String::from_utf8_lossy(&rune).into_owned();
                        format!(
                            "schema must be set for deprecation entry [{}] for package {rune}",
                            facts.package
                        )
                    }
                });
            }
            if !references.insert((&entry.schema, &entry.name)) {
                return refuse(format!("duplicate deprecation entry {} for package {package}", reference()));
            }
            let message = Some(entry.message.clone());
            match entry.schema.as_str() {
                config::BUNDLE => {
                    if !names.get(facts.package.as_str()).is_some_and(|set| set.contains(entry.name.as_str()))
                    {
                        return refuse(format!(
                            "cannot deprecate bundle {name} for package {package}: bundle not found"
                        ));
                    }
                    for channel in owner.channels.values_mut() {
                        if let Some(bundle) = channel.bundles.get_mut(&entry.name) {
                            bundle.deprecation.clone_from(&message);
                        }
                    }
                }
                config::CHANNEL => match owner.channels.get_mut(&entry.name) {
                    Some(channel) => channel.deprecation = message,
                    None => {
                        return refuse(format!(
                            "cannot deprecate channel {name} for package {package}: channel not found"
                        ));
                    }
                },
                config::PACKAGE => {
                    if !entry.name.is_empty() {
                        return refuse(format!(
                            "package name must be empty for deprecated package {package} (specified {name})"
                        ));
                    }
                    owner.deprecation = message;
                }
                _ => {
                    return refuse(format!(
                        "cannot deprecate object {} referenced by entry {at} for package {package}: object schema \
                         unknown",
                        reference()
                    ));
                }
            }
        }
    }
    Ok(())
}

fn check_deprecation(report: &mut Report, deprecation: Option<&String>) {
    if deprecation.is_some_and(String::is_empty) {
        report.add("invalid deprecation: message must be set");
    }
}

impl Package {
    fn check(&self, generation: Generation) -> Report {
        let mut report = Report::new(format!("invalid package {}", quoted(&self.name)), self.place.clone());
        if self.default_channel.is_none() {
            report.add("default channel must be set");
        }
        if self.channels.is_empty() {
            report.add("package must contain at least one channel");
        }
        self.channels.values().for_each(|channel| report.take(channel.check(&self.name, generation)));
        self.check_versions(&mut report, generation);
        check_deprecation(&mut report, self.deprecation.as_ref());
        report
    }

    /// No two bundles may have the same version.
    fn check_versions(&self, report: &mut Report, generation: Generation) {
        let mut versions: BTreeMap<String, (&Version, BTreeSet<&str>)> = BTreeMap::new();
        for (name, bundle) in self.channels.values().flat_map(|channel| &channel.bundles) {
            let version = &bundle.version;
            versions.entry(version.to_string()).or_insert((&version.version, BTreeSet::new())).1.insert(name);
        }
        let mut sorted: Vec<_> = versions.into_iter().collect();
        if generation == Generation::V151 {
            sorted.sort_by(|a, b| a.1.0.compare(b.1.0));
        }
        let twice: Vec<String> = sorted
            .into_iter()
            .filter(|(_, (_, names))| names.len() > 1)
            .map(|(version, (_, names))| {
                format!("{{{version}: [{}]}}", names.into_iter().collect::<Vec<_>>().join(", "))
            })
            .collect();
        if !twice.is_empty() {
            report.add(format!("duplicate versions found in bundles: {}", listed(twice)));
        }
    }
}

impl Channel {
    /// The bundle that nothing replaces or skips. An error is in opm's words.
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
                let names: Vec<&str> = several.iter().map(|(name, _)| name.as_str()).collect();
                Err(format!("multiple channel heads found in graph: {}", names.join(", ")))
            }
        }
    }

    fn check(&self, package: &str, generation: Generation) -> Report {
        let mut report = Report::new(format!("invalid channel {}", quoted(&self.name)), self.place.clone());
        if self.bundles.is_empty() {
            report.add("channel must contain at least one bundle");
        } else if let Err(text) = self.check_chain(generation) {
            report.add(text);
        }
        self.bundles.values().for_each(|bundle| report.take(bundle.check(package, generation)));
        check_deprecation(&mut report, self.deprecation.as_ref());
        report
    }

    /// From the head, `replaces` has to lead to every bundle that nobody skips, and not in a circle.
    fn check_chain(&self, generation: Generation) -> Result<(), String> {
        let head = self.head()?;
        let skipped: HashSet<&str> =
            self.bundles.values().flat_map(|bundle| &bundle.entry.skips).map(String::as_str).collect();
        let mut chain = vec![head.entry.name.as_str()];
        let mut reached: HashSet<&str> = chain.iter().copied().collect();
        let mut current = Some(head);
        while let Some(bundle) = current {
            let next = bundle.entry.replaces.as_str();
            if generation == Generation::V173 && skipped.contains(next) {
                break;
            }
            if !reached.insert(next) {
                let start = chain.iter().position(|name| *name == next).unwrap_or_default();
                chain.push(next);
                let circle = chain.get(start..).unwrap_or_default();
                return Err(format!(
                    "detected cycle in replaces chain of upgrade graph: {}",
                    circle.join(" -> ")
                ));
            }
            chain.push(next);
            current = self.bundles.get(next);
        }
        let left: Vec<&str> =
            self.bundles.keys().map(String::as_str).filter(|n| !reached.contains(n)).collect();
        let stranded: Vec<&str> = left.into_iter().filter(|name| !skipped.contains(name)).collect();
        if stranded.is_empty() {
            Ok(())
        } else {
            Err(format!("channel contains one or more stranded bundles: {}", stranded.join(", ")))
        }
    }
}

impl Bundle {
    fn check(&self, package: &str, generation: Generation) -> Report {
        let Entry { name, skips, skip_range, .. } = &self.entry;
        let mut report = Report::new(format!("invalid bundle {}", quoted(name)), self.place.clone());
        if name.is_empty() {
            report.add("name must be set");
        }
        let released = !self.version.release.is_empty();
        let normal = format!("{package}-v{}", self.version);
        if released && *name != normal {
            report.add(format!("name {} does not match normalized name {}", quoted(name), quoted(&normal)));
        }
        for (at, _) in skips.iter().enumerate().filter(|(_, skip)| skip.is_empty()) {
            report.add(format!("skip[{at}] is empty"));
        }
        if generation == Generation::V173
            && !skip_range.is_empty()
            && let Err(error) = Range::parse(skip_range)
        {
            report.add(format!("invalid skipRange {}: {error}", quoted(skip_range)));
        }
        if !self.has_document {
            report.add("must be exactly one property with type \"olm.package\"");
        }
        if self.image.is_empty() && !self.has_objects {
            report.add("bundle image must be set");
        }
        check_deprecation(&mut report, self.deprecation.as_ref());
        if released && !self.version.version.build.is_empty() {
            report.add("cannot use build metadata in version with a release version");
        }
        report
    }
}
