//! What is asked of the options for Windows, which any pod may have.

use super::Scene;
use crate::strategy::formats;
use crate::strategy::place::{Flaws, Place};

const LONGEST_CREDENTIAL: usize = 64 << 10;
const LONGEST_DOMAIN: usize = 256;
const LONGEST_USER: usize = 104;

/// The options of a pod or of a container.
pub fn options(place: &Place<'_>, out: &mut Flaws) {
    let name = place.at("gmsaCredentialSpecName");
    if name.is() {
        out.wrong(&name, formats::subdomain(name.text()));
    }
    let credential = place.at("gmsaCredentialSpec");
    match credential.text().len() {
        _ if !credential.is() => {}
        0 => out.invalid_text(&credential, "gmsaCredentialSpec cannot be an empty string"),
        length if length > LONGEST_CREDENTIAL => {
            out.invalid_text(&credential, "gmsaCredentialSpec size must be under 64 KiB");
        }
        _ => {}
    }
    let user = place.at("runAsUserName");
    if user.is() {
        out.wrong(&user, user_wrongs(user.text()));
    }
}

fn user_wrongs(text: &str) -> Vec<String> {
    let alone = |what: &str| vec![format!("runAsUserName {what}")];
    let (domain, user) = match text.split('\\').collect::<Vec<&str>>().as_slice() {
        _ if text.is_empty() => return alone("cannot be an empty string"),
        _ if text.bytes().any(|byte| byte.is_ascii_control()) => {
            return alone("cannot contain control characters");
        }
        [user] => (None, *user),
        [domain, user] => (Some(*domain), *user),
        _ => return alone("cannot contain more than one backslash"),
    };
    let odd = user.contains(|sign: char| "\"/\\:;|=,+*?<>@[]".contains(sign));
    let blank = !user.is_empty() && user.chars().all(|sign| matches!(sign, '.' | ' '));
    [
        (
            domain.is_some_and(|domain| domain.len() >= LONGEST_DOMAIN),
            "Domain length must be under 256 characters",
        ),
        (
            domain.is_some_and(|domain| !is_short_domain(domain) && !is_domain(domain)),
            "Domain doesn't match the NetBios nor the DNS format",
        ),
        (user.is_empty(), "User cannot be empty"),
        (user.len() > LONGEST_USER, "User length must not be longer than 104 characters"),
        (blank, "User cannot contain only periods or spaces"),
        (odd, "User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"),
    ]
    .into_iter()
    .filter(|(wrong, _)| *wrong)
    .map(|(_, what)| format!("runAsUserName's {what}"))
    .collect()
}

/// Up to fifteen signs that mean nothing else; the first is no dot.
fn is_short_domain(text: &str) -> bool {
    let odd = |sign: char| "\\/:*?\"<>|".contains(sign);
    (1..=15).contains(&text.chars().count()) && !text.starts_with('.') && !text.contains(odd)
}

fn is_domain(text: &str) -> bool {
    text.split('.').all(|part| {
        let bytes = part.as_bytes();
        bytes.len() <= 63
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
            && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
    })
}

/// Containers that are processes of the machine: all of a pod or none, and with its network.
pub fn processes(scene: &Scene<'_>, out: &mut Flaws) {
    const WISH: &str = "securityContext.windowsOptions.hostProcess";
    let whole = scene.spec.at(WISH).value.as_bool();
    let (mut all, mut processes) = (0, 0);
    for container in scene.containers() {
        let field = container.at(WISH);
        let own = field.value.as_bool();
        if let (Some(whole), Some(own)) = (whole, own)
            && whole != own
        {
            let detail =
                format!("pod hostProcess value must be identical if both are specified, was {whole}");
            out.invalid(&field, &detail);
        }
        all += 1;
        processes += usize::from(own.or(whole) == Some(true));
    }
    if processes == 0 {
        return;
    }
    if processes != all {
        let detail =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        out.invalid_as(&scene.spec.path, "\"\"", detail);
    }
    if !scene.spec.at("hostNetwork").truth() {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        out.invalid_as(scene.spec.child("hostNetwork"), "false", detail);
    }
}
