//! Charts that are elsewhere: in repositories of the web and in registries.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::ArgMatches;
use podium_chart::chart::Loaded;
use podium_chart::dialect::Dialect;
use podium_chart::load;
use podium_chart::repository::config::{self, Entry};
use podium_chart::repository::index::{self, Index};
use podium_chart::repository::{digest, url};
use podium_chart::text::base;
use podium_oci::client::fetch::FetchRequest;
use podium_oci::{Client, Credential, Keyring, Options, ProxyConfig, TlsOptions};
use tokio::runtime::Runtime;

use crate::chart::{hints, oci};
use crate::flag::{on, one};
use crate::image::access::{believe, certificate};
use crate::output::{complain, print, with_hint};

/// A larger archive is not read.
pub const MAX_ARCHIVE: usize = 200 * 1024 * 1024;
/// Registries are named so.
pub const OCI: &str = "oci://";
const ARCHIVES: &str = "application/gzip,application/octet-stream";

/// Where Helm keeps what it knows, by flags and environment variables.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `repositories.yaml`.
    pub repositories: PathBuf,
    /// The directory with the indexes of repositories.
    pub cache: PathBuf,
    /// Credentials of registries.
    pub registries: PathBuf,
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

impl Settings {
    /// What flags and environment say.
    pub fn read(matches: &ArgMatches) -> Self {
        let home = variable("HOME").unwrap_or_default();
        let folder = |own: &str, xdg: &str, usual: &str| {
            variable(own)
                .or_else(|| Some(variable(xdg)?.join("helm")))
                .unwrap_or_else(|| home.join(usual).join("helm"))
        };
        let config = folder("HELM_CONFIG_HOME", "XDG_CONFIG_HOME", ".config");
        let cache = folder("HELM_CACHE_HOME", "XDG_CACHE_HOME", ".cache");
        let said = |flag: &str, name: &str, usual: PathBuf| {
            let flag = one(matches, flag).filter(|value| !value.is_empty()).map(PathBuf::from);
            flag.or_else(|| variable(name)).unwrap_or(usual)
        };
        Self {
            repositories: said(
                "repository-config",
                "HELM_REPOSITORY_CONFIG",
                config.join("repositories.yaml"),
            ),
            cache: said("repository-cache", "HELM_REPOSITORY_CACHE", cache.join("repository")),
            registries: said("registry-config", "HELM_REGISTRY_CONFIG", config.join("registry/config.json")),
        }
    }

    /// The repositories that have names; none if there is no such file.
    pub fn known(&self) -> Result<Vec<Entry>, String> {
        match load::place(&self.repositories) {
            load::Place::File(Ok(text)) => config::parse(&text).map_err(|error| error.to_string()),
            load::Place::Missing => Ok(Vec::new()),
            other => {
                let path = self.repositories.display();
                let error = other.content("", &path.to_string()).err().unwrap_or_default();
                Err(format!("couldn't load repositories file ({path}): {error}"))
            }
        }
    }

    /// Where the index of a repository is kept.
    pub fn index_file(&self, name: &str) -> Result<PathBuf, String> {
        if base(name) != name || name == ".." {
            return Err(format!("repository name {name:?} cannot be part of a file's name"));
        }
        Ok(self.cache.join(format!("{name}-index.yaml")))
    }

    /// The index of a repository as it was last seen.
    pub fn index(&self, name: &str) -> Result<Index, String> {
        let path = self.index_file(name)?;
        let text = std::fs::read(&path).map_err(|error| load::go_error("open", &path, &error))?;
        Index::parse(&text).map_err(|error| format!("error loading {}: {error}", path.display()))
    }
}

/// Who is asked for charts, and how.
pub struct Remote {
    /// Where Helm keeps what it knows.
    pub settings: Settings,
    /// Which Helm to be like.
    pub dialect: &'static Dialect,
    runtime: Runtime,
    options: Options,
    client: Client,
    credential: Option<(String, String)>,
    everywhere: bool,
}

/// A chart that was asked for.
pub enum Located {
    /// It is on this machine.
    Path(PathBuf),
    /// It came from elsewhere: the name of its archive, and the bytes.
    Archive(String, Vec<u8>),
}

impl Located {
    /// Loads it.
    pub fn load(&self, dialect: &Dialect) -> Result<Loaded, load::Error> {
        match self {
            Self::Path(path) => load::load(path, dialect),
            Self::Archive(name, bytes) => load::load_archive_bytes(bytes, name, dialect),
        }
    }

    /// What messages call it.
    pub fn place(&self) -> PathBuf {
        match self {
            Self::Path(path) => path.clone(),
            Self::Archive(name, _) => PathBuf::from(name),
        }
    }
}

impl Remote {
    /// What the flags say. Nothing is sent yet.
    pub fn new(matches: &ArgMatches) -> anyhow::Result<Self> {
        let text = |flag: &str| one(matches, flag).filter(|value| !value.is_empty()).map(str::to_owned);
        let settings = Settings::read(matches);
        let credential = text("username").zip(text("password"));
        let environment = |name: &str| std::env::var_os(name);
        let mut trust = TlsOptions::default();
        if let Some(path) = text("ca-file") {
            believe(&mut trust, &path).map_err(|error| anyhow!("--ca-file {error}"))?;
        }
        trust.client_certificate = certificate(one(matches, "cert-file"), one(matches, "key-file"))?;
        let keyring = match settings.registries.is_file() {
            true => Keyring::from_file(&settings.registries),
            false => Keyring::from_environment(&environment),
        };
        let options = Options {
            tls: trust,
            keyring,
            proxies: ProxyConfig::from_environment(&environment),
            plain_http: on(matches, "plain-http"),
            ..Options::default()
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let everywhere = on(matches, "pass-credentials");
        let client = Client::new(options.clone());
        let dialect = super::input::dialect(one(matches, "helm-version"))?;
        Ok(Self { settings, dialect, runtime, options, client, credential, everywhere })
    }

    /// A client that shows its own credential to a registry, and the runtime that it needs.
    pub fn registry(&self, host: &str) -> (&Runtime, Client) {
        match &self.credential {
            None => (&self.runtime, self.client.clone()),
            Some((user, password)) => {
                let credential = Credential::Basic(user.clone(), password.clone());
                let keyring = self.options.keyring.clone().with_credential(host, credential);
                (&self.runtime, Client::new(Options { keyring, ..self.options.clone() }))
            }
        }
    }

    /// A client that believes whom a repository's entry says, and shows the certificate that it names.
    fn client_of(&self, owner: Option<&Entry>) -> Result<Client, String> {
        let Some(entry) = owner else { return Ok(self.client.clone()) };
        if entry.insecure {
            return Err(format!(
                "repository {} wants connections without checks, which podium does not make; give it the authority's \
                 certificate (caFile) instead",
                entry.name
            ));
        }
        if [&entry.ca_file, &entry.cert_file, &entry.key_file].iter().all(|file| file.is_empty()) {
            return Ok(self.client.clone());
        }
        let mut options = self.options.clone();
        if !entry.ca_file.is_empty() {
            let believed = believe(&mut options.tls, &entry.ca_file);
            believed.map_err(|error| format!("repository {}: {error:#}", entry.name))?;
        }
        let own = certificate(Some(&entry.cert_file), Some(&entry.key_file))
            .map_err(|error| format!("repository {}: {error:#}", entry.name))?;
        options.tls.client_certificate = own.or(options.tls.client_certificate);
        Ok(Client::new(options))
    }

    /// Gets a file. The credentials are those of a repository, or of the flags.
    fn get(&self, address: &str, owner: Option<&Entry>, home: &str, limit: usize) -> Result<Vec<u8>, String> {
        let own = owner.filter(|entry| !entry.username.is_empty() && !entry.password.is_empty());
        let client = self.client_of(owner)?;
        let credential = match (own, &self.credential) {
            (Some(entry), _) => Some((entry.username.as_str(), entry.password.as_str())),
            (None, Some((user, password))) => Some((user.as_str(), password.as_str())),
            (None, None) => None,
        };
        let everywhere = own.map_or(self.everywhere, |entry| entry.pass_credentials);
        let file = FetchRequest {
            url: address,
            credential,
            credential_url: home,
            pass_credentials: everywhere,
            accept: Some(ARCHIVES),
            max_bytes: limit,
        };
        self.runtime.block_on(client.fetch(&file)).map_err(|error| match error {
            podium_oci::client::Error::Status { status, .. } => {
                format!("failed to fetch {address} : {status}")
            }
            other => other.to_string(),
        })
    }

    /// The index of a repository, and its bytes.
    pub fn index(&self, address: &str, owner: Option<&Entry>) -> Result<(Index, Vec<u8>), String> {
        let place = url::resolve(address, "index.yaml")?;
        let limit = usize::try_from(index::MAX_SIZE).unwrap_or(usize::MAX);
        let bytes = self.get(&place, owner, address, limit)?;
        let index = Index::parse(&bytes).map_err(|error| error.to_string())?;
        Ok((index, bytes))
    }

    /// The URL of a chart in a repository that need not have a name, and the digest of its archive.
    pub fn find(&self, repository: &str, name: &str, range: &str) -> Result<(String, String), String> {
        let (index, _) = self.index(repository, None).map_err(|error| {
            format!("looks like {repository:?} is not a valid chart repository or cannot be reached: {error}")
        })?;
        let mut what = format!("chart {name:?}");
        if !range.is_empty() {
            what.push_str(&format!(" version {range:?}"));
        }
        let entry =
            index.get(name, range).map_err(|_| format!("{what} not found in {repository} repository"))?;
        let Some(first) = entry.urls.as_ref().and_then(|urls| urls.first()) else {
            return Err(format!("{what} has no downloadable URLs"));
        };
        let place = url::resolve(repository, first)
            .map_err(|error| format!("failed to make chart URL absolute: {error}"))?;
        Ok((place, entry.digest.clone()))
    }

    /// Says what was moved, where the command that moves it says so.
    pub fn tell(&self, text: &str) -> Result<(), String> {
        if self.dialect.transfers_on_output {
            return print(format!("{text}\n").as_bytes()).map_err(|error| error.to_string());
        }
        complain(text);
        Ok(())
    }

    /// Gets the archive of a chart: from a registry, from a URL, or from a repository that has a name. Says how its file
    /// is called.
    pub fn download(
        &self,
        reference: &str,
        range: &str,
        home: Option<&str>,
    ) -> Result<(String, Vec<u8>), String> {
        if reference.starts_with(OCI) {
            let pulled = oci::pull(self, reference, range)?;
            complain(&pulled.told);
            return Ok((pulled.file_name, pulled.chart));
        }
        if reference.starts_with("http://") || reference.starts_with("https://") {
            let owner = self.owner_of(reference)?;
            let home = home.unwrap_or(owner.as_ref().map_or(reference, |entry| entry.url.as_str()));
            let name = file_name(reference)?;
            return Ok((name, self.get(reference, owner.as_ref(), home, MAX_ARCHIVE)?));
        }
        let Some((name, chart)) = reference.split_once('/') else {
            return Err(format!(
                "non-absolute URLs should be in form of repo_name/path_to_chart, got: {reference}"
            ));
        };
        let known = self.settings.known()?;
        let entry = known.iter().find(|entry| entry.name == name).ok_or(format!("repo {name} not found"))?;
        if entry.url.is_empty() {
            return Err(format!("no URL found for repository {name}"));
        }
        let index = self.settings.index(name);
        let index =
            index.map_err(|error| format!("no cached repo found. (try 'helm repo update'): {error}"))?;
        let version = index.get(chart, range).map_err(|error| {
            format!("chart {chart:?} matching {range} not found in {name} index. (try 'helm repo update'): {error}")
        })?;
        let Some(first) = version.urls.as_ref().and_then(|urls| urls.first()) else {
            return Err(format!("chart {reference:?} has no downloadable URLs"));
        };
        let place =
            url::resolve(&entry.url, first).map_err(|_| format!("invalid chart URL format: {reference}"))?;
        if place.starts_with(OCI) {
            let pulled = oci::pull(self, &place, "")?;
            complain(&pulled.told);
            return Ok((pulled.file_name, pulled.chart));
        }
        let name = file_name(&place)?;
        let bytes = self.get(&place, Some(entry), &entry.url, MAX_ARCHIVE)?;
        check_digest(&place, &version.digest, &bytes)?;
        Ok((name, bytes))
    }

    /// The repository with a name whose index has a URL.
    fn owner_of(&self, address: &str) -> Result<Option<Entry>, String> {
        for entry in self.settings.known()? {
            let index = self.settings.index(&entry.name);
            let index =
                index.map_err(|error| format!("no cached repo found. (try 'helm repo update'): {error}"))?;
            let mut urls =
                index.entries.values().flatten().filter_map(|version| version.urls.as_ref()).flatten();
            if urls.any(|other| url::equal(address, other)) {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

/// Compares an archive with the digest that an index has for it. Helm does not look; who changed one of the two may
/// have changed a chart.
pub fn check_digest(place: &str, wanted: &str, bytes: &[u8]) -> Result<(), String> {
    let wanted = wanted.strip_prefix("sha256:").unwrap_or(wanted);
    if wanted.len() != 64 || wanted == digest(bytes) {
        return Ok(());
    }
    Err(format!("{place} is not what its index says: its digest is {}, not {wanted}", digest(bytes)))
}

/// How the file at a URL is called; never a path.
pub fn file_name(address: &str) -> Result<String, String> {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.is_empty() || name == "." || name == ".." || name.contains(['\\', '\0']) {
        return Err(format!("{address} does not name a file"));
    }
    Ok(name.to_owned())
}

/// Which version of a chart the flags ask for.
pub fn range(matches: &ArgMatches) -> String {
    match one(matches, "version").map(str::trim).filter(|range| !range.is_empty()) {
        Some(range) => range.to_owned(),
        None if on(matches, "devel") => ">0.0.0-0".to_owned(),
        None => String::new(),
    }
}

/// Finds a chart: a path of this machine, or what registries and repositories have.
pub fn locate(matches: &ArgMatches, name: &str) -> anyhow::Result<Located> {
    let repository = one(matches, "repo").filter(|repository| !repository.is_empty());
    let trimmed = name.trim();
    if repository.is_none() {
        if Path::new(trimmed).exists() {
            return Ok(Located::Path(super::input::absolute(name)));
        }
        if Path::new(name).is_absolute() || name.starts_with('.') {
            return Err(with_hint(&format!("path {name:?} not found"), Some(hints::missing(name))));
        }
        if !name.contains('/') {
            bail!(
                "there is no file or directory {name:?}: give the path of a chart's directory or archive, for example \
                 ./{name}, or a chart of a repository or registry"
            );
        }
    }
    let remote = Remote::new(matches)?;
    let range = range(matches);
    let (file, bytes) = match repository {
        None => remote.download(trimmed, &range, None),
        Some(repository) => fetch_from(&remote, repository, trimmed, &range),
    }
    .map_err(|error| {
        // What has no scheme may have been meant as a path.
        let path = repository.is_none() && !trimmed.contains("://");
        with_hint(&error, path.then(|| hints::missing(trimmed)))
    })?;
    Ok(Located::Archive(file, bytes))
}

/// Finds a chart on this machine.
pub fn locate_here(name: &str) -> anyhow::Result<Located> {
    if Path::new(name.trim()).exists() {
        return Ok(Located::Path(super::input::absolute(name)));
    }
    if name.contains("://") {
        bail!(
            "{name:?} is not on this machine: pull it first (podium chart pull), then give its directory or archive"
        );
    }
    bail!("there is no file or directory {name:?}: give the path of a chart's directory or archive")
}

/// Gets a chart of a repository that is given by its URL.
pub fn fetch_from(
    remote: &Remote,
    repository: &str,
    name: &str,
    range: &str,
) -> Result<(String, Vec<u8>), String> {
    let (place, digest) = remote.find(repository, name, range)?;
    let (file, bytes) = remote.download(&place, "", Some(repository))?;
    check_digest(&place, &digest, &bytes)?;
    Ok((file, bytes))
}

/// What is said of a chart that was pulled or pushed, in Helm's words.
pub fn told(what: &str, name: &str, digest: &str) -> String {
    let mut text = format!("{what}: {name}\nDigest: {digest}");
    if name.contains('_') {
        text += &format!(
            "\n{name} contains an underscore.\n\nOCI artifact references (e.g. tags) do not support the plus sign (+). To support\n\
             storing semantic versions, Helm adopts the convention of changing plus (+) to\n\
             an underscore (_) in chart version tags when pushing to a registry and back to\n\
             a plus (+) when pulling from a registry."
        );
    }
    text
}
