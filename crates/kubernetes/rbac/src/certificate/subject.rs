//! Who the owner of a certificate is.

use ring::digest::{SHA256, digest};

use super::der::{Reader, tag};
use super::part;
use crate::user::{CREDENTIAL, User};

/// Why nobody is known by a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The bytes are no certificate.
    #[error("the certificate cannot be read")]
    Certificate,
    /// Nobody is named in it: to the real server, who shows it is anonymous; all other errors mean 401.
    #[error("the subject of the certificate has no common name")]
    Nameless,
    /// There is more than one uid in it.
    #[error("expected 1 UID, but found multiple")]
    Uids,
    /// An empty uid says nothing.
    #[error("UID cannot be an empty string")]
    EmptyUid,
}

/// The user of a certificate in DER whose signature and usage have been checked: the common name is the user's, each
/// organisation a group. The group of all who are known is not added.
pub fn identity(certificate: &[u8]) -> Result<User, Unreadable> {
    let subject = subject(certificate).ok_or(Unreadable::Certificate)?;
    let (mut user, mut uids) = (User::default(), Vec::new());
    for (kind, value) in subject {
        match kind {
            part::COMMON_NAME => user.name = value,
            part::ORGANIZATION => user.groups.push(value),
            part::UID => uids.push(value),
            _ => {}
        }
    }
    if user.name.is_empty() {
        return Err(Unreadable::Nameless);
    }
    match uids.as_mut_slice() {
        [] => {}
        [uid] if uid.is_empty() => return Err(Unreadable::EmptyUid),
        [uid] => user.uid = std::mem::take(uid),
        _ => return Err(Unreadable::Uids),
    }
    let print: String =
        digest(&SHA256, certificate).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    user.extra.insert(CREDENTIAL.to_owned(), vec![format!("X509SHA256={print}")]);
    Ok(user)
}

/// The parts of the subject: what each is, and its text.
fn subject(certificate: &[u8]) -> Option<Vec<(&[u8], String)>> {
    let mut tbs = Reader::new(certificate).enter(tag::SEQUENCE)?.enter(tag::SEQUENCE)?;
    tbs.skip(tag::inside(0))?;
    tbs.read(tag::INTEGER)?;
    // The algorithm, the issuer and the validity.
    for _ in 0..3 {
        tbs.read(tag::SEQUENCE)?;
    }
    let mut names = tbs.enter(tag::SEQUENCE)?;
    let mut parts = Vec::new();
    while !names.is_empty() {
        let mut set = names.enter(tag::SET)?;
        while !set.is_empty() {
            let mut pair = set.enter(tag::SEQUENCE)?;
            let kind = pair.read(tag::OID)?;
            let (tag, content, _) = pair.any()?;
            parts.push((kind, text(tag, content)?));
        }
    }
    Some(parts)
}

fn text(tag: u8, content: &[u8]) -> Option<String> {
    let utf8 = || String::from_utf8(content.to_vec()).ok();
    match tag {
        tag::UTF8 => utf8(),
        tag::PRINTABLE | tag::NUMERIC | tag::IA5 if content.is_ascii() => utf8(),
        // Every byte is a letter of Latin-1.
        tag::T61 => Some(content.iter().map(|byte| char::from(*byte)).collect()),
        tag::BMP if content.len().is_multiple_of(2) => {
            let units: Vec<u16> = content
                .chunks_exact(2)
                .filter_map(|two| two.try_into().ok().map(u16::from_be_bytes))
                .collect();
            String::from_utf16(&units).ok()
        }
        _ => None,
    }
}
