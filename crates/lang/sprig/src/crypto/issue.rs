//! Making certificates, in the shape that Go's `x509.CreateCertificate` gives to those of Sprig.

use std::net::IpAddr;

use podium_gotmpl::{Error, World, gostr};
use sha2::{Digest, Sha256};

use super::certificate::Certificate;
use super::der::{self, tag};
use super::keys::Private;
use super::stream::Stream;

const COMMON_NAME: &[u32] = &[2, 5, 4, 3];
const SERVER_AUTH: &[u32] = &[1, 3, 6, 1, 5, 5, 7, 3, 1];
const CLIENT_AUTH: &[u32] = &[1, 3, 6, 1, 5, 5, 7, 3, 2];

/// What a certificate says.
pub struct Request {
    /// The common name, the only part of the subject.
    pub name: Vec<u8>,
    /// The addresses that it is for.
    pub addresses: Vec<IpAddr>,
    /// The host names that it is for.
    pub hosts: Vec<Vec<u8>>,
    /// The days that it is valid.
    pub days: i64,
    /// Whether it may sign others.
    pub authority: bool,
}

/// Makes a certificate in DER for the owner of a key, signed by a signer or by the owner.
pub fn issue(
    request: &Request,
    key: &Private,
    signer: Option<(&Certificate<'_>, &Private)>,
    world: &dyn World,
) -> Result<Vec<u8>, Error> {
    let signing = signer.map_or(key, |(_, signing)| signing);
    let algorithm = signing.algorithm();
    let algorithm = algorithm.ok_or("x509: certificate private key does not implement crypto.Signer")?;
    let public = key.public().map_err(|kind| format!("x509: unsupported public key type: {kind}"))?;
    let (key_algorithm, key_bits) = public.to_der();
    let subject = subject(&request.name)?;
    let issuer = signer.map_or(subject.as_slice(), |(parent, _)| parent.subject);
    if let Some((Certificate { key: Some(expected), .. }, _)) = signer
        && signing.public().as_ref() != Ok(expected)
    {
        return Err("x509: provided PrivateKey doesn't match parent's PublicKey".into());
    }
    let parent_id = signer.map(|(parent, _)| parent.key_id).filter(|_| issuer != subject.as_slice());
    let extensions = extensions(request, &key_bits, parent_id.unwrap_or_default())?;
    let tbs = der::sequence(&[
        &der::tlv(tag::inside(0), &[&der::integer(&[2])]),
        &der::integer(&Stream::new(world).bytes(16)),
        &algorithm,
        issuer,
        &validity(request.days, world)?,
        &subject,
        &der::sequence(&[&key_algorithm, &der::bits(&key_bits)]),
        &der::tlv(tag::inside(3), &[&der::sequence(&[&extensions])]),
    ]);
    let signature = signing.sign(&tbs, world)?;
    Ok(der::sequence(&[&tbs, &algorithm, &der::bits(&signature)]))
}

/// The name of the subject; no name is an empty sequence.
fn subject(name: &[u8]) -> Result<Vec<u8>, Error> {
    if name.is_empty() {
        return Ok(der::sequence(&[]));
    }
    let printable = |b: &u8| b.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(b);
    let tag = match () {
        () if name.iter().all(printable) => tag::PRINTABLE,
        () if gostr::valid(name) => tag::UTF8,
        () => return Err("asn1: string not valid UTF-8".into()),
    };
    let pair = der::sequence(&[&der::oid(COMMON_NAME), &der::tlv(tag, &[name])]);
    Ok(der::sequence(&[&der::tlv(tag::SET, &[&pair])]))
}

fn extensions(request: &Request, key: &[u8], parent_id: &[u8]) -> Result<Vec<u8>, Error> {
    let extension = |id: u32, critical: bool, value: &[u8]| {
        let critical = if critical { der::tlv(tag::BOOLEAN, &[&[0xff]]) } else { Vec::new() };
        der::sequence(&[&der::oid(&[2, 5, 29, id]), &critical, &der::tlv(tag::OCTETS, &[value])])
    };
    // Digital signatures, enciphering keys and, for an authority, signing certificates: the bits 0, 2 and 5.
    let usage: &[u8] = if request.authority { &[2, 0b1010_0100] } else { &[5, 0b1010_0000] };
    let usages = der::sequence(&[&der::oid(SERVER_AUTH), &der::oid(CLIENT_AUTH)]);
    let is_authority = der::tlv(tag::BOOLEAN, &[&[0xff]]);
    let constraints: &[&[u8]] = if request.authority { &[&is_authority] } else { &[] };
    let mut out = extension(15, true, &der::tlv(tag::BITS, &[usage]));
    out.extend(extension(37, false, &usages));
    out.extend(extension(19, true, &der::sequence(constraints)));
    if request.authority {
        // RFC 7093, method 1.
        let hash: [u8; 32] = Sha256::digest(key).into();
        let (id, _) = hash.split_at(20);
        out.extend(extension(14, false, &der::tlv(tag::OCTETS, &[id])));
    }
    if !parent_id.is_empty() {
        let id = der::tlv(tag::context(0), &[parent_id]);
        out.extend(extension(35, false, &der::sequence(&[&id])));
    }
    if !request.hosts.is_empty() || !request.addresses.is_empty() {
        // Who has no name must be known by these.
        out.extend(extension(17, request.name.is_empty(), &alternative_names(request)?));
    }
    Ok(out)
}

fn alternative_names(request: &Request) -> Result<Vec<u8>, Error> {
    let mut names = Vec::new();
    for host in &request.hosts {
        if !host.is_ascii() {
            let quoted = gostr::quote(host);
            let text = [b"x509: ", quoted.as_slice(), b" cannot be encoded as an IA5String"].concat();
            return Err(Error::new(text));
        }
        names.extend(der::tlv(tag::context(2), &[host]));
    }
    for address in &request.addresses {
        // An IPv4 address inside IPv6 is an IPv4 address.
        names.extend(match address.to_canonical() {
            IpAddr::V4(v4) => der::tlv(tag::context(7), &[&v4.octets()]),
            IpAddr::V6(v6) => der::tlv(tag::context(7), &[&v6.octets()]),
        });
    }
    Ok(der::sequence(&[&names]))
}

/// From now on for so many days; as in Go, centuries of days wrap around.
fn validity(days: i64, world: &dyn World) -> Result<Vec<u8>, Error> {
    const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;
    const SECOND: i128 = 1_000_000_000;
    let (seconds, nanos) = world.now();
    let end = i128::from(seconds) * SECOND + i128::from(nanos) + i128::from(days.wrapping_mul(DAY));
    Ok(der::sequence(&[&time(i128::from(seconds))?, &time(end.div_euclid(SECOND))?]))
}

/// A time: two digits of the year as long as that is unambiguous.
fn time(seconds: i128) -> Result<Vec<u8>, Error> {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let rest = format!("{month:02}{day:02}{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60);
    match year {
        1950..2050 => Ok(der::tlv(tag::UTC_TIME, &[format!("{:02}{rest}", year % 100).as_bytes()])),
        0..10_000 => Ok(der::tlv(tag::GENERALIZED_TIME, &[format!("{year:04}{rest}").as_bytes()])),
        _ => Err("asn1: structure error: cannot represent time as GeneralizedTime".into()),
    }
}

/// Year, month and day of a day counted from 1970.
fn civil(days: i128) -> (i128, i128, i128) {
    // Years here start in March, so that the leap day is the last one.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i128::from(month <= 2), month, day)
}
