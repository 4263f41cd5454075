//! `podium registry login` and `logout`.

use std::io::Read;

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgMatches;
use podium_oci::{Credential, Reference};

use crate::flag::{on, one};
use crate::image::access;
use crate::output::print;

/// The host that was given, as credentials name it.
fn host(matches: &ArgMatches) -> Result<String> {
    let text = matches.get_one::<String>("host").map(String::as_str).unwrap_or_default();
    let text = text.strip_prefix("https://").unwrap_or(text).trim_end_matches('/');
    // A host alone looks like a repository; with one behind it is what it is.
    let parsed = Reference::parse(&format!("{text}/x"));
    match parsed {
        Ok(reference) if !text.contains('/') && (reference.registry == text || text == "index.docker.io") => {
            Ok(reference.registry)
        }
        _ => bail!("{text} is not the host of a registry: write HOST or HOST:PORT"),
    }
}

/// Tries name and password, and writes them down.
pub fn login(matches: &ArgMatches) -> Result<()> {
    let host = host(matches)?;
    let user = one(matches, "username").context("say who you are, with --username NAME")?.to_owned();
    let password = match (one(matches, "password"), on(matches, "password-stdin")) {
        (Some(_), true) => bail!("--password and --password-stdin: write one of them"),
        (Some(password), false) => password.to_owned(),
        (None, true) => {
            let mut text = String::new();
            std::io::stdin()
                .take(1 << 20)
                .read_to_string(&mut text)
                .map_err(|e| anyhow!("standard input: {e}"))?;
            text.trim_end_matches(['\n', '\r']).to_owned()
        }
        (None, false) => bail!(
            "say your password, with --password-stdin: echo \"$PASSWORD\" | podium registry login {host} -u {user} --password-stdin"
        ),
    };
    if user.contains(':') || user.is_empty() || password.is_empty() {
        bail!("a name without : and a password are needed");
    }
    let client = access::client(matches)?;
    let credential = Credential::Basic(user.clone(), password.clone());
    access::block_on(async { Ok(client.check_login(&host, credential).await?) })?;
    let keyring = access::keyring(matches);
    keyring.store(&host, &user, &password)?;
    let home = keyring.auth_file().map(|path| path.display().to_string()).unwrap_or_default();
    print(format!("logged in to {host} as {user}; written to {home}\n").as_bytes())
}

/// Forgets.
pub fn logout(matches: &ArgMatches) -> Result<()> {
    let host = host(matches)?;
    if access::keyring(matches).remove(&host)? {
        return print(format!("logged out of {host}\n").as_bytes());
    }
    bail!("you are not logged in to {host}")
}
