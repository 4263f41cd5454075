//! Making certificates: an authority of our own, servers and users that it vouches for.

use std::net::IpAddr;

use ring::digest::{SHA256, digest};

use super::der::{self, Reader, tag};
use super::part;
use crate::key::{self, Key};
use crate::pem;
use crate::time::civil;

/// ecdsa-with-SHA256.
const ALGORITHM: &[u8] = &[0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
/// id-kp-serverAuth and id-kp-clientAuth, whole.
const SERVER: &[u8] = &[0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];
const CLIENT: &[u8] = &[0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02];

/// Why there is no certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Something is wrong with a key.
    #[error(transparent)]
    Key(#[from] key::Error),
    /// A moment that no certificate can name.
    #[error("a certificate cannot be valid at the year {0}")]
    Time(i64),
    /// A name that no certificate can have.
    #[error("a certificate cannot be for {0:?}")]
    Name(String),
    /// The authority's own certificate cannot be read, or is for another key.
    #[error("this is no certificate in PEM of an authority with this key")]
    Authority,
}

/// From when to when, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first moment.
    pub from: i64,
    /// The last moment.
    pub to: i64,
}

/// A certificate and its key.
#[derive(Debug)]
pub struct Issued {
    /// The certificate in DER.
    pub certificate: Vec<u8>,
    /// Its key.
    pub key: Key,
}

impl Issued {
    /// The certificate in PEM.
    pub fn to_pem(&self) -> String {
        pem::write("CERTIFICATE", &self.certificate)
    }
}

/// Who vouches for servers and users.
#[derive(Debug)]
pub struct Authority {
    own: Issued,
    subject: Vec<u8>,
}

/// What a certificate says.
struct Request<'r> {
    subject: &'r [u8],
    issuer: &'r [u8],
    validity: Validity,
    extensions: Vec<u8>,
}

impl Authority {
    /// A new authority.
    pub fn generate(name: &str, validity: Validity) -> Result<Self, Error> {
        let key = Key::generate()?;
        let subject = subject(name, &[]);
        let is_authority = der::sequence(&[&der::tlv(tag::BOOLEAN, &[&[0xff]])]);
        let extensions = [
            // Digital signatures, enciphering keys, signing certificates.
            extension(15, true, &der::tlv(tag::BITS, &[&[2, 0b1010_0100]])),
            extension(19, true, &is_authority),
            extension(14, false, &der::tlv(tag::OCTETS, &[&key_id(key.point())])),
        ]
        .concat();
        let request = Request { subject: &subject, issuer: &subject, validity, extensions };
        let certificate = sign(&request, &key, &key)?;
        Ok(Self { own: Issued { certificate, key }, subject })
    }

    /// An authority that was made before.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, Error> {
        let key = Key::from_pem(key)?;
        let certificate = pem::read(certificate, "CERTIFICATE").ok_or(Error::Authority)?;
        let (subject, public) = own_parts(&certificate).ok_or(Error::Authority)?;
        if public != key.public() {
            return Err(Error::Authority);
        }
        let subject = subject.to_vec();
        Ok(Self { own: Issued { certificate, key }, subject })
    }

    /// Its own certificate, which others have to trust, and its key.
    pub fn own(&self) -> &Issued {
        &self.own
    }

    /// A certificate for a server that is reached by these names and addresses.
    pub fn server(&self, name: &str, hosts: &[&str], validity: Validity) -> Result<Issued, Error> {
        let mut names = Vec::new();
        for host in hosts {
            let bytes = match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
                Ok(IpAddr::V4(address)) => der::tlv(tag::context(7), &[&address.octets()]),
                Ok(IpAddr::V6(address)) => der::tlv(tag::context(7), &[&address.octets()]),
                Err(_) if host.is_ascii() && !host.is_empty() => {
                    der::tlv(tag::context(2), &[host.as_bytes()])
                }
                Err(_) => return Err(Error::Name((*host).to_owned())),
            };
            names.extend(bytes);
        }
        let names = if names.is_empty() { names } else { extension(17, false, &der::sequence(&[&names])) };
        self.issue(&subject(name, &[]), SERVER, &names, validity)
    }

    /// A certificate for a user of some groups.
    pub fn client(&self, user: &str, groups: &[&str], validity: Validity) -> Result<Issued, Error> {
        if user.is_empty() {
            return Err(Error::Name(user.to_owned()));
        }
        self.issue(&subject(user, groups), CLIENT, &[], validity)
    }

    fn issue(&self, subject: &[u8], usage: &[u8], names: &[u8], validity: Validity) -> Result<Issued, Error> {
        let key = Key::generate()?;
        let parent = der::sequence(&[&der::tlv(tag::context(0), &[&key_id(self.own.key.point())])]);
        let extensions = [
            extension(15, true, &der::tlv(tag::BITS, &[&[5, 0b1010_0000]])),
            extension(37, false, &der::sequence(&[usage])),
            extension(19, true, &der::sequence(&[])),
            extension(35, false, &parent),
            names.to_vec(),
        ]
        .concat();
        let request = Request { subject, issuer: &self.subject, validity, extensions };
        let certificate = sign(&request, &key, &self.own.key)?;
        Ok(Issued { certificate, key })
    }
}

fn sign(request: &Request<'_>, key: &Key, signer: &Key) -> Result<Vec<u8>, Error> {
    let Validity { from, to } = request.validity;
    // A serial number is positive.
    let serial: [u8; 16] = key::random()?;
    let tbs = der::sequence(&[
        &der::tlv(tag::inside(0), &[&der::integer(&[2])]),
        &der::integer(&serial),
        ALGORITHM,
        request.issuer,
        &der::sequence(&[&moment(from)?, &moment(to)?]),
        request.subject,
        &key.public(),
        &der::tlv(tag::inside(3), &[&der::sequence(&[&request.extensions])]),
    ]);
    Ok(der::sequence(&[&tbs, ALGORITHM, &der::bits(&signer.sign_der(&tbs)?)]))
}

/// Groups, then the name, each a part of its own.
fn subject(name: &str, groups: &[&str]) -> Vec<u8> {
    let part = |kind: &[u8], text: &str| {
        let printable = |b: u8| b.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&b);
        let tag = if text.bytes().all(printable) { tag::PRINTABLE } else { tag::UTF8 };
        let pair = der::sequence(&[&der::tlv(tag::OID, &[kind]), &der::tlv(tag, &[text.as_bytes()])]);
        der::tlv(tag::SET, &[&pair])
    };
    let groups = groups.iter().map(|group| part(part::ORGANIZATION, group));
    let all: Vec<Vec<u8>> = groups.chain([part(part::COMMON_NAME, name)]).collect();
    der::sequence(&[&all.concat()])
}

fn extension(id: u8, critical: bool, value: &[u8]) -> Vec<u8> {
    let critical = if critical { der::tlv(tag::BOOLEAN, &[&[0xff]]) } else { Vec::new() };
    der::sequence(&[&der::tlv(tag::OID, &[&[0x55, 0x1d, id]]), &critical, &der::tlv(tag::OCTETS, &[value])])
}

/// The first 20 bytes of the key's hash.
fn key_id(point: &[u8]) -> Vec<u8> {
    digest(&SHA256, point).as_ref().iter().take(20).copied().collect()
}

/// A moment: two digits of the year as long as that is clear.
fn moment(seconds: i64) -> Result<Vec<u8>, Error> {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Whoever wants years beyond these is mistaken, and the calendar would take its time.
    if !(-800_000..4_000_000).contains(&days) {
        return Err(Error::Time(1970_i64.saturating_add(days / 365)));
    }
    let (year, month, day) = civil(days);
    let rest = format!("{month:02}{day:02}{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60);
    match year {
        1950..2050 => Ok(der::tlv(tag::UTC_TIME, &[format!("{:02}{rest}", year % 100).as_bytes()])),
        0..10_000 => Ok(der::tlv(tag::GENERALIZED_TIME, &[format!("{year:04}{rest}").as_bytes()])),
        _ => Err(Error::Time(year)),
    }
}

/// The subject of a certificate and its public key, both whole.
fn own_parts(certificate: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut tbs = Reader::new(certificate).enter(tag::SEQUENCE)?.enter(tag::SEQUENCE)?;
    tbs.skip(tag::inside(0))?;
    // The serial number, the algorithm, the issuer and the validity.
    for _ in 0..4 {
        tbs.any()?;
    }
    Some((tbs.any()?.2, tbs.any()?.2))
}

#[cfg(test)]
mod tests {
    use super::super::{Unreadable, identity};
    use super::*;
    use crate::user::CREDENTIAL;

    const VALID: Validity = Validity { from: 1_700_000_000, to: 4_000_000_000 };

    #[test]
    fn a_user_is_known_by_the_certificate() {
        let made = Authority::generate("podium", VALID).unwrap();
        let authority = Authority::from_pem(&made.own().to_pem(), &made.own().key.to_pem()).unwrap();
        let issued = authority.client("bob@home", &["system:masters", "ä"], VALID).unwrap();
        let user = identity(&issued.certificate).unwrap();
        assert_eq!(
            (user.name.as_str(), user.groups.as_slice()),
            ("bob@home", &["system:masters".to_owned(), "ä".to_owned()][..])
        );
        assert!(user.extra[CREDENTIAL][0].starts_with("X509SHA256="));
        let other = Authority::generate("podium", VALID).unwrap();
        let mixed = Authority::from_pem(&made.own().to_pem(), &other.own().key.to_pem());
        assert_eq!(mixed.map(drop), Err(Error::Authority));
        assert_eq!(made.client("", &[], VALID).map(drop), Err(Error::Name(String::new())));
        assert_eq!(made.server("s", &["ä"], VALID).map(drop), Err(Error::Name("ä".to_owned())));
        assert!(made.client("a", &[], Validity { from: 0, to: i64::MAX }).is_err());
    }

    #[test]
    fn broken_certificates_are_nobody() {
        let authority = Authority::generate("podium", VALID).unwrap();
        let whole = authority.client("bob", &["devs"], VALID).unwrap().certificate;
        for end in 0..whole.len() {
            assert_eq!(identity(&whole[..end]), Err(Unreadable::Certificate), "{end}");
        }
        // Whatever is changed, the answer is a user or an error.
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                let _ = identity(&bytes);
            }
        }
    }
}
