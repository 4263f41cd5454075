//! `repositories.yaml`: the repositories that a user has given names to.

use podium_goyaml::yaml::types::{ANY, BOOL, Kind, STRING, Struct, Type};
use podium_goyaml::{Node, yaml};

/// A repository that has a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// Who asks.
    pub username: String,
    /// With which password.
    pub password: String,
    /// The file of a certificate of our own.
    pub cert_file: String,
    /// The file of its key.
    pub key_file: String,
    /// The file of certificates that the server's has to be signed by.
    pub ca_file: String,
    /// Whether any certificate will do.
    pub insecure: bool,
    /// Whether other hosts get the password too.
    pub pass_credentials: bool,
}

static FILE: Type = {
    static ENTRY: Type = Type::pointer(
        "repo.Entry",
        Kind::Struct(&Struct {
            name: "Entry",
            fields: &[
                ("name", &STRING),
                ("url", &STRING),
                ("username", &STRING),
                ("password", &STRING),
                ("certFile", &STRING),
                ("keyFile", &STRING),
                ("caFile", &STRING),
                ("insecure_skip_tls_verify", &BOOL),
                ("pass_credentials_all", &BOOL),
            ],
        }),
    );
    static ENTRIES: Type = Type::new("[]*repo.Entry", Kind::List(&ENTRY));
    Type::new(
        "repo.File",
        Kind::Struct(&Struct {
            name: "File",
            fields: &[("apiVersion", &STRING), ("generated", &ANY), ("repositories", &ENTRIES)],
        }),
    )
};

/// Reads the list.
pub fn parse(text: &[u8]) -> Result<Vec<Entry>, yaml::Error> {
    let file = yaml::parse_as(text, 0, &FILE)?;
    let entries = file.get("repositories").and_then(Node::as_list).into_iter().flat_map(|list| list.iter());
    Ok(entries.filter(|entry| !entry.is_null()).map(entry).collect())
}

fn entry(node: &Node) -> Entry {
    let text = |name: &str| node.get(name).and_then(Node::as_str).unwrap_or_default().to_owned();
    let on = |name: &str| node.get(name).and_then(Node::as_bool).unwrap_or_default();
    Entry {
        name: text("name"),
        url: text("url"),
        username: text("username"),
        password: text("password"),
        cert_file: text("certFile"),
        key_file: text("keyFile"),
        ca_file: text("caFile"),
        insecure: on("insecure_skip_tls_verify"),
        pass_credentials: on("pass_credentials_all"),
    }
}
