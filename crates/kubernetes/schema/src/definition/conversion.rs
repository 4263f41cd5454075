//! How versions of a kind become each other.

use podium_meta::{ErrorType, FieldError};

use super::model::{Client, Conversion, Service};
use super::schema::not_supported;
use super::{Options, shown};
use crate::formats::Url;
use crate::go;
use crate::names;
use crate::path::Path;

/// What is wrong with a conversion.
pub fn check(conversion: &Conversion, options: &Options<'_>, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let place = at.child("strategy");
    match conversion.strategy.as_str() {
        "" => flaws.push(FieldError::required(&place, "")),
        "None" | "Webhook" => {}
        other => flaws.push(not_supported(&place, &go::quote(other), &["None", "Webhook"])),
    }
    let (client_at, reviews_at) = (at.child("webhookClientConfig"), at.child("conversionReviewVersions"));
    if conversion.strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if conversion.client.is_some() {
            flaws.push(FieldError::forbidden(&client_at, detail));
        }
        if !conversion.reviews.is_empty() {
            flaws.push(FieldError::forbidden(&reviews_at, detail));
        }
        return flaws;
    }
    match &conversion.client {
        None => flaws.push(FieldError::required(&client_at, "required when strategy is set to Webhook")),
        Some(client) => flaws.extend(check_client(client, options.broken_bundle, &client_at)),
    }
    flaws.extend(check_reviews(&conversion.reviews, options.known_review, &reviews_at));
    flaws
}

fn check_client(client: &Client, broken_bundle: bool, at: &Path) -> Vec<FieldError> {
    let mut flaws = match (&client.url, &client.service) {
        (Some(url), None) => check_url(url, &at.child("url")),
        (None, Some(service)) => check_service(service, &at.child("service")),
        _ => vec![FieldError::required(at, "exactly one of url or service is required")],
    };
    if !client.bundle.is_empty() && !broken_bundle && !is_bundle(&client.bundle) {
        let detail = "unable to load root certificates: unable to parse bytes as PEM block";
        flaws.push(FieldError::new(
            ErrorType::Invalid,
            at.child("caBundle"),
            &shown::quoted(&client.bundle),
            detail,
        ));
    }
    flaws
}

/// Whether base64 text holds a certificate.
pub fn is_bundle(text: &str) -> bool {
    let bytes = decode(text);
    let text = String::from_utf8_lossy(&bytes);
    text.contains("-----BEGIN CERTIFICATE-----") && text.contains("-----END CERTIFICATE-----")
}

/// Base64, as far as it is any.
fn decode(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut out, mut bits, mut held) = (Vec::with_capacity(text.len()), 0_u32, 0_u32);
    for value in text.bytes().filter_map(value) {
        bits = bits << 6 & 0xFFFF | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held & 0xFF) as u8);
        }
    }
    out
}

fn check_url(url: &str, at: &Path) -> Vec<FieldError> {
    const FORM: &str = "; desired format: https://host[/path]";
    let url = match Url::parse(url) {
        Ok(url) => url,
        Err(error) => {
            return vec![FieldError::required(at, &format!("url must be a valid URL: {error}{FORM}"))];
        }
    };
    let mut flaws = Vec::new();
    let mut say = |shown: &str, detail: &str| {
        flaws.push(FieldError::new(ErrorType::Invalid, at, &go::quote(shown), detail))
    };
    if url.scheme != "https" {
        say(&url.scheme, &format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if url.host.is_empty() {
        say("", &format!("host must be specified{FORM}"));
    }
    if let Some(user) = &url.user {
        say(user, "user information is not permitted in the URL");
    }
    if !url.fragment.is_empty() {
        say(&url.fragment, "fragments are not permitted in the URL");
    }
    if !url.query.is_empty() {
        say(&url.query, "query parameters are not permitted in the URL");
    }
    flaws
}

fn check_service(service: &Service, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    // The server mixes the two names up, and so does what it says.
    if service.namespace.is_empty() {
        flaws.push(FieldError::required(at.child("name"), ""));
    }
    if service.name.is_empty() {
        flaws.push(FieldError::required(at.child("namespace"), ""));
    }
    if !(1..=65535).contains(&service.port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        flaws.push(FieldError::new(ErrorType::Invalid, at.child("port"), &service.port.to_string(), detail));
    }
    if let Some(path) = &service.path {
        flaws.extend(check_path(path, &at.child("path")));
    }
    flaws
}

fn check_path(path: &str, at: &Path) -> Vec<FieldError> {
    if matches!(path, "" | "/") {
        return Vec::new();
    }
    let shown = go::quote(path);
    let invalid = |detail: &str| FieldError::new(ErrorType::Invalid, at, &shown, detail);
    if path == "//" {
        return vec![invalid("segment[0] may not be empty")];
    }
    let mut flaws = Vec::new();
    if !path.starts_with('/') {
        flaws.push(invalid("must start with a '/'"));
    }
    let mut chars = path.chars();
    chars.next();
    let rest = chars.as_str();
    for (index, step) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if step.is_empty() {
            flaws.push(invalid(&format!("segment[{index}] may not be empty")));
        }
        let wrong = if step.is_empty() { Vec::new() } else { names::subdomain(step) };
        flaws.extend(wrong.into_iter().map(|wrong| invalid(&format!("segment[{index}]: {wrong}"))));
    }
    flaws
}

/// Whether a version of reviews is one that the server knows.
pub fn is_known_review(version: &str) -> bool {
    matches!(version, "v1" | "v1beta1")
}

fn check_reviews(versions: &[String], known: bool, at: &Path) -> Vec<FieldError> {
    if versions.is_empty() {
        return vec![FieldError::required(at, "")];
    }
    let mut flaws = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let at = at.index(index);
        let mut say =
            |detail: &str| flaws.push(FieldError::new(ErrorType::Invalid, &at, &go::quote(version), detail));
        if versions.get(..index).unwrap_or(&[]).contains(version) {
            say("duplicate version");
            continue;
        }
        for wrong in names::label_1035(version) {
            say(&wrong);
        }
    }
    if known && !versions.iter().any(|version| is_known_review(version)) {
        let detail = "must include at least one of v1, v1beta1";
        flaws.push(FieldError::new(ErrorType::Invalid, at, &shown::texts(versions), detail));
    }
    flaws
}
