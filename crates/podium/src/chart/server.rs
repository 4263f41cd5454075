//! What a render asks of a cluster: `--dry-run=server` and `--validate`.

use std::rc::Rc;

use anyhow::{Result, anyhow, bail};
use clap::ArgMatches;
use podium_chart::dialect::Dialect;
use podium_chart::render::Release;
use podium_deploy::{ReleaseRef, check};

use crate::chart::flags::BARE_DRY_RUN;
use crate::chart::input::{self, Input};
use crate::cluster::Cluster;
use crate::flag::{on, one, parse_bool};
use crate::output::complain;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Templates look things up.
    lookups: bool,
    /// The cluster's version and kinds are seen, and what is in the way is told.
    checks: bool,
}

impl Asked {
    /// Reads the flags.
    pub fn read(matches: &ArgMatches) -> Result<Self> {
        let validate = on(matches, "validate");
        let dry_run = one(matches, "dry-run");
        if !input::dialect(one(matches, "helm-version"))?.one_server_dry_run {
            return Ok(Self { lookups: looks_up(dry_run)?, checks: validate });
        }
        if matches.value_source("validate").is_some() {
            complain("Flag --validate has been deprecated, use '--dry-run=server' instead");
            if dry_run.is_some() {
                bail!(
                    "if any flags in the group [validate dry-run] are set none of the others can be; \
                     [dry-run validate] were all set"
                );
            }
        }
        let all = is_server(dry_run)? || validate;
        Ok(Self { lookups: all, checks: all })
    }

    /// Connects the render with the cluster, if one is asked; gives it back when it has to be asked more.
    pub fn open(self, matches: &ArgMatches, input: &mut Input) -> Result<Option<Rc<Cluster>>> {
        if !self.lookups && !self.checks {
            return Ok(None);
        }
        let cluster = Rc::new(Cluster::open(matches)?);
        if self.checks {
            let prefix = if self.lookups { "cluster reachability check failed: " } else { "" };
            input.capabilities = cluster.capabilities().map_err(|e| anyhow!("{prefix}{e}"))?;
        }
        if self.lookups {
            input.world.cluster = Some(cluster.clone());
        }
        Ok(Some(cluster).filter(|_| self.checks))
    }

    /// Checks that nothing is in the way of the objects.
    pub fn check(cluster: &Cluster, objects: &[u8], release: &Release, dialect: &Dialect) -> Result<()> {
        let release_ref = ReleaseRef { name: release.name.clone(), namespace: release.namespace.clone() };
        let objects = String::from_utf8_lossy(objects);
        let discovery = cluster.discovery()?;
        let options =
            check::CheckOptions { upgrade: release.is_upgrade, generated_names: dialect.generated_names };
        let checked = cluster.wait(async |client| {
            check::check_install(&client, &discovery, &objects, &release_ref, options).await
        });
        checked.map_err(|error| match error {
            check::Error::InvalidManifest(_) => error.into(),
            error => anyhow!("{}{error}", dialect.install_error_prefix),
        })
    }
}

/// What Helm 3 makes of `--dry-run`.
fn looks_up(value: Option<&str>) -> Result<bool> {
    match value {
        None | Some(BARE_DRY_RUN | "client" | "true") => Ok(false),
        Some("server" | "none" | "false") => Ok(true),
        Some(_) => {
            bail!("Invalid dry-run flag. Flag must one of the following: false, true, none, client, server")
        }
    }
}

/// What Helm 4 makes of it.
fn is_server(value: Option<&str>) -> Result<bool> {
    let words = match value {
        None | Some("client") => return Ok(false),
        Some("server") => return Ok(true),
        Some(BARE_DRY_RUN) => {
            complain(
                "level=WARN msg=\"--dry-run is deprecated and should be replaced with '--dry-run=client'\"",
            );
            return Ok(false);
        }
        Some(other) => other,
    };
    match parse_bool(words) {
        Ok(true) => {
            complain(&format!(
                "level=WARN msg=\"boolean '--dry-run={words}' flag is deprecated and must be replaced with '--dry-run=client'\""
            ));
            Ok(false)
        }
        Err(_) if words != "none" => {
            bail!("invalid dry-run value ({words:?}). Must be \"none\", \"server\", or \"client\"")
        }
        _ => bail!("invalid dry-run value ({words:?}). Must be \"server\" or \"client\""),
    }
}
