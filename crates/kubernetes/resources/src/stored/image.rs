//! Names of images, as far as their tags matter.

/// Whether an image is its newest: without a tag and a digest, or tagged so. What is no name of an image is not.
pub fn is_latest(reference: &str) -> bool {
    parse(reference).is_some_and(|(tag, digest)| match tag {
        Some(tag) => tag == "latest",
        None => !digest,
    })
}

/// The tag, and whether there is a digest; nothing if it is no name of an image.
fn parse(text: &str) -> Option<(Option<&str>, bool)> {
    if text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let (domain, rest) = match text.split_once('/') {
        Some((host, rest)) if is_host(host) => (host, rest),
        _ => ("docker.io", text),
    };
    let remote = rest.split(':').next().unwrap_or_default();
    if remote.to_lowercase() != remote {
        return None;
    }
    let (name, digest) = match rest.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (rest, None),
    };
    let (path, tag) = match name.rsplit_once(':') {
        Some((path, tag)) => (path, Some(tag)),
        None => (name, None),
    };
    let library = if domain == "docker.io" && !rest.contains('/') { "library/".len() } else { 0 };
    let long = domain.len() + 1 + library + path.len() > 255;
    let good = is_domain(domain)
        && !path.is_empty()
        && path.split('/').all(is_component)
        && !long
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest);
    good.then_some((tag, digest.is_some()))
}

/// Whether the first part of a name is a host and not a folder.
fn is_host(text: &str) -> bool {
    text.contains(['.', ':']) || text == "localhost" || text.to_lowercase() != text
}

fn is_domain(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            let good =
                !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':');
            let port = rest.strip_prefix(':');
            return good && (rest.is_empty() || port.is_some_and(is_number));
        }
        None => text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.split('.').all(label) && port.is_none_or(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Small letters and digits, with single signs or runs of dashes between them.
fn is_component(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut rest = text.as_bytes();
    loop {
        let run = rest.iter().take_while(|byte| plain(**byte)).count();
        if run == 0 {
            return false;
        }
        rest = rest.get(run..).unwrap_or_default();
        rest = match rest {
            [] => return true,
            [b'_', b'_', after @ ..] | [b'.' | b'_', after @ ..] => after,
            [b'-', ..] => {
                let dashes = rest.iter().take_while(|byte| **byte == b'-').count();
                rest.get(dashes..).unwrap_or_default()
            }
            _ => return false,
        };
    }
}

fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut bytes = text.bytes();
    text.len() <= 128
        && bytes.next().is_some_and(word)
        && bytes.all(|byte| word(byte) || matches!(byte, b'.' | b'-'))
}

/// A digest of one of the methods that are known.
fn is_digest(text: &str) -> bool {
    let Some((method, digits)) = text.split_once(':') else { return false };
    let length = match method {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    digits.len() == length && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
