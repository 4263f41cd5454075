//! The functions that make certificates and keys.

use std::net::IpAddr;

use podium_gotmpl::types::{Field, STRING, Shape, Type};
use podium_gotmpl::{Ctx, Error, Value};

use super::certificate::Certificate;
use super::issue::{Request, issue};
use super::keys::{self, Private, wrap};
use super::stream::Stream;
use super::{pem, rsa};
use crate::args::{Outcome, int, string, text};
use crate::encoding::base64_decode;
use crate::limits::check_chance;

/// What the functions return: a certificate and its private key, both in PEM.
pub static CERTIFICATE: Type = Type::defined("sprig.certificate", Shape::Struct(&[CERT, KEY]), &[]);

const CERT: Field = Field { name: "Cert", ty: &STRING, json: "Cert", omit_empty: false, embedded: false };
const KEY: Field = Field { name: "Key", ty: &STRING, json: "Key", omit_empty: false, embedded: false };

pub(super) fn gen_private_key<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    check_chance(cx)?;
    let kind = text(args, 0);
    match keys::generate(kind, &mut Stream::new(cx.world)) {
        Some(key) => string(key),
        None => string([b"Unknown type ", kind].concat()),
    }
}

pub(super) fn build_custom_cert<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let decode = |i: usize, what: &str| {
        base64_decode(text(args, i)).map_err(|_| Error::new(format!("unable to decode base64 {what}")))
    };
    let cert = decode(0, "certificate")?;
    let key = decode(1, "private key")?;
    let block = pem::decode(&cert).ok_or("unable to decode certificate")?;
    Certificate::parse(&block.bytes)
        .map_err(|e| wrap("error parsing certificate: decodedCert.Bytes: ", e))?;
    Private::from_pem(&key).map_err(|e| wrap("error parsing private key: ", e))?;
    cx.heap.charge(cert.len().saturating_add(key.len()))?;
    Ok(cx.heap.structure(&CERTIFICATE, vec![Value::string(cert), Value::string(key)]))
}

pub(super) fn gen_ca<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    check_chance(cx)?;
    authority(cx, args, &new_key(cx))
}

pub(super) fn gen_ca_with_key<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    check_chance(cx)?;
    authority(cx, args, &given_key(args, 2)?)
}

pub(super) fn gen_self_signed_cert<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    check_chance(cx)?;
    let request = request(args)?;
    certificate(cx, &request, &new_key(cx), None)
}

pub(super) fn gen_self_signed_cert_with_key<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    check_chance(cx)?;
    let key = given_key(args, 4)?;
    certificate(cx, &request(args)?, &key, None)
}

pub(super) fn gen_signed_cert<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    check_chance(cx)?;
    signed(cx, args, || Ok(new_key(cx)))
}

pub(super) fn gen_signed_cert_with_key<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    check_chance(cx)?;
    let key = given_key(args, 5)?;
    signed(cx, args, || Ok(key))
}

fn authority<'h>(cx: &Ctx<'h>, args: &[Value<'h>], key: &Private) -> Outcome<'h> {
    let days = int(args, 1);
    let name = text(args, 0).to_vec();
    let request = Request { name, addresses: Vec::new(), hosts: Vec::new(), days, authority: true };
    certificate(cx, &request, key, None)
}

fn signed<'h>(cx: &Ctx<'h>, args: &[Value<'h>], key: impl FnOnce() -> Result<Private, Error>) -> Outcome<'h> {
    let [cert, signing] = match args.get(4) {
        Some(Value::Struct(ca)) => [text(&ca.fields, 0), text(&ca.fields, 1)],
        _ => Default::default(),
    };
    let block = pem::decode(cert).ok_or("unable to decode certificate")?;
    let parent = Certificate::parse(&block.bytes);
    let parent = parent.map_err(|e| wrap("error parsing certificate: decodedSignerCert.Bytes: ", e))?;
    let signing = Private::from_pem(signing).map_err(|e| wrap("error parsing private key: ", e))?;
    let request = request(args)?;
    // Making a key is the slow part, so it comes after everything that can go wrong.
    certificate(cx, &request, &key()?, Some((&parent, &signing)))
}

fn certificate<'h>(
    cx: &Ctx<'h>,
    request: &Request,
    key: &Private,
    signer: Option<(&Certificate<'_>, &Private)>,
) -> Outcome<'h> {
    let der = issue(request, key, signer, cx.world).map_err(|e| wrap("error creating certificate: ", e))?;
    let fields = [pem::encode("CERTIFICATE", &der), key.to_pem()];
    cx.heap.charge(fields.iter().map(Vec::len).sum())?;
    Ok(cx.heap.structure(&CERTIFICATE, fields.map(Value::string).to_vec()))
}

fn new_key(cx: &Ctx<'_>) -> Private {
    Private::Rsa(Box::new(rsa::Private::generate(2048, &mut Stream::new(cx.world))))
}

fn given_key(args: &[Value<'_>], index: usize) -> Result<Private, Error> {
    Private::from_pem(text(args, index)).map_err(|e| wrap("parsing private key: ", e))
}

/// The arguments that all but the authorities share: name, addresses, host names and days.
fn request(args: &[Value<'_>]) -> Result<Request, Error> {
    let mut addresses = Vec::new();
    for item in list(args, 1) {
        let Value::Str(address) = item else {
            return Err(not_a_string("error parsing ip: ", item));
        };
        let parsed = std::str::from_utf8(address).ok().and_then(|a| a.parse::<IpAddr>().ok());
        addresses.push(parsed.ok_or_else(|| wrap("error parsing ip: ", Error::new(address.as_bytes())))?);
    }
    let mut hosts = Vec::new();
    for item in list(args, 2) {
        let Value::Str(host) = item else {
            return Err(not_a_string("error processing alternate dns name: ", item));
        };
        hosts.push(host.as_bytes().to_vec());
    }
    Ok(Request { name: text(args, 0).to_vec(), addresses, hosts, days: int(args, 3), authority: false })
}

fn not_a_string(before: &str, value: &Value<'_>) -> Error {
    wrap(before, Error::new([podium_gotmpl::fmt::to_bytes(value).as_slice(), b" is not a string"].concat()))
}

fn list<'a, 'h>(args: &'a [Value<'h>], index: usize) -> &'a [Value<'h>] {
    match args.get(index) {
        Some(Value::List(list)) => &list.items,
        _ => &[],
    }
}
