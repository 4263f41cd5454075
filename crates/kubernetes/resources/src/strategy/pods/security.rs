//! Who a pod's processes are and what they may do.

use serde_json::Value;

use super::super::formats;
use super::super::place::{Flaws, Place, between};
use super::{Scene, windows};
use crate::typed::json::quote;

const PROFILES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];
const OLD_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const OLD_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const OLD_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
/// Settings of the kernel that are shared with the machine when its processes can talk to the pod's.
const SHARED_IPC: &[&str] = &[
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];

fn identity(place: &Place<'_>, out: &mut Flaws) {
    if place.is() && !(0..=i64::from(i32::MAX)).contains(&place.number()) {
        out.invalid_number(place, &between(0, i64::from(i32::MAX)));
    }
}

/// What holds for all containers of a pod.
pub fn pod(scene: &Scene<'_>, out: &mut Flaws) {
    let place = scene.spec.at("securityContext");
    for key in ["fsGroup", "runAsUser", "runAsGroup"] {
        identity(&place.at(key), out);
    }
    place.each("supplementalGroups").iter().for_each(|group| identity(group, out));
    if scene.spec.at("shareProcessNamespace").truth() && scene.spec.at("hostPID").truth() {
        // The field is the pod's, but the server says that it is here.
        let field = scene.spec.at("shareProcessNamespace").moved(place.child("shareProcessNamespace"));
        out.invalid(&field, "ShareProcessNamespace and HostPID cannot both be enabled");
    }
    settings(scene, &place.at("sysctls"), out);
    among(&place.at("fsGroupChangePolicy"), &["Always", "OnRootMismatch"], out);
    seccomp(&place.at("seccompProfile"), out);
    windows::options(&place.at("windowsOptions"), out);
    armor(&place.at("appArmorProfile"), out);
    among(&place.at("supplementalGroupsPolicy"), &["Merge", "Strict"], out);
    among(&place.at("seLinuxChangePolicy"), &["Recursive"], out);
}

fn among(place: &Place<'_>, list: &[&str], out: &mut Flaws) {
    if place.is() && !list.contains(&place.text()) {
        out.unsupported(place, list);
    }
}

fn is_setting(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.iter().all(|byte| plain(*byte) || matches!(byte, b'-' | b'_'))
            && bytes.first().is_some_and(|byte| plain(*byte))
            && bytes.last().is_some_and(|byte| plain(*byte))
    };
    name.len() <= 253 && name.split(['.', '/']).all(part)
}

fn settings(scene: &Scene<'_>, list: &Place<'_>, out: &mut Flaws) {
    let mut seen: Vec<&str> = Vec::new();
    for one in list.items() {
        let name = one.at("name");
        let text = name.text();
        if text.is_empty() {
            out.required(&name, "");
        } else if !is_setting(text) {
            let detail = "must have at most 253 characters and match regex \
                          ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            out.invalid_text(&name, detail);
        } else if seen.contains(&text) {
            out.duplicate(&name);
        }
        let plain = text.replace('/', ".");
        if scene.spec.at("hostNetwork").truth() && plain.starts_with("net.") {
            out.invalid_text(&name, "may not be specified when 'hostNetwork' is true");
        } else if scene.spec.at("hostIPC").truth()
            && (SHARED_IPC.contains(&plain.as_str()) || plain.starts_with("fs.mqueue."))
        {
            out.invalid_text(&name, "may not be specified when 'hostIPC' is true");
        }
        seen.push(text);
    }
}

fn seccomp(place: &Place<'_>, out: &mut Flaws) {
    if !place.is() {
        return;
    }
    let (kind, profile) = (place.at("type"), place.at("localhostProfile"));
    if kind.text().is_empty() {
        out.required(&kind, "type is required when seccompProfile is set");
    } else if !PROFILES.contains(&kind.text()) {
        out.unsupported(&kind, PROFILES);
    }
    match (kind.text() == "Localhost", profile.is()) {
        (true, false) => out.required(&profile, "must be set when seccomp type is Localhost"),
        (true, true) => out.wrong(&profile, formats::descending(profile.text())),
        (false, true) => {
            let shown =
                format!("{{\"Type\":{},\"LocalhostProfile\":{}}}", quote(kind.text()), quote(profile.text()));
            out.invalid_as(&profile.path, &shown, "can only be set when seccomp type is Localhost");
        }
        (false, false) => {}
    }
}

fn armor(place: &Place<'_>, out: &mut Flaws) {
    if !place.is() {
        return;
    }
    let (kind, profile) = (place.at("type"), place.at("localhostProfile"));
    match kind.text() {
        "Localhost" => {
            let needed = "must be set when AppArmor type is Localhost";
            if !profile.is() {
                out.required(&profile, needed);
                return;
            }
            if profile.text().trim() != profile.text() {
                out.invalid_text(&profile, "must not be padded with whitespace");
            } else if profile.text().is_empty() {
                out.required(&profile, needed);
            }
            if profile.text().len() > 4095 {
                out.too_long(&profile.path, 4095);
            }
        }
        "RuntimeDefault" | "Unconfined" if profile.is() => {
            out.invalid(&profile, "can only be set when AppArmor type is Localhost");
        }
        "RuntimeDefault" | "Unconfined" => {}
        "" => out.required(&kind, "type is required when appArmorProfile is set"),
        _ => out.unsupported(&kind, PROFILES),
    }
}

/// What holds for one container.
pub fn container(place: &Place<'_>, shares_users: bool, out: &mut Flaws) {
    if !place.is() {
        return;
    }
    identity(&place.at("runAsUser"), out);
    identity(&place.at("runAsGroup"), out);
    let mount = place.at("procMount");
    if mount.is() {
        if !matches!(mount.text(), "Default" | "Unmasked") {
            out.unsupported(&mount, &["Default", "Unmasked"]);
        }
        if shares_users && mount.text() == "Unmasked" {
            out.invalid_text(&mount, "`hostUsers` must be false to use `Unmasked`");
        }
    }
    seccomp(&place.at("seccompProfile"), out);
    if place.at("allowPrivilegeEscalation").value == &Value::Bool(false) {
        let mut refuse = |what: &str| {
            let detail = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
            out.invalid_as(&place.path, &context_shown(place), &detail);
        };
        if place.at("privileged").truth() {
            refuse("`privileged` to true");
        }
        if place.each("capabilities.add").iter().any(|one| one.text() == "CAP_SYS_ADMIN") {
            refuse("`capabilities.Add` CAP_SYS_ADMIN");
        }
    }
    windows::options(&place.at("windowsOptions"), out);
    armor(&place.at("appArmorProfile"), out);
}

/// How the server shows a container's context: by the names that its own type has.
fn context_shown(place: &Place<'_>) -> String {
    super::super::inner::shown("core.SecurityContext", place.value)
}

/// Pods with users of their own cannot share the rest of the machine.
pub fn users(scene: &Scene<'_>, out: &mut Flaws) {
    if scene.shares_users() {
        return;
    }
    let detail = "when `hostUsers` is false";
    for (key, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if scene.spec.at(key).truth() {
            out.forbidden(&scene.spec.at(key).moved(scene.spec.child(shown)), detail);
        }
    }
    for container in scene.containers() {
        if container.at("volumeDevices").count() > 0 {
            out.forbidden(&container.at("volumeDevices"), detail);
        }
    }
}

/// The system that a pod is for.
pub fn system(scene: &Scene<'_>, out: &mut Flaws) {
    let system = scene.spec.at("os");
    let name = system.at("name");
    match name.text() {
        _ if !system.is() => {}
        "" => out.required(&name, ""),
        "linux" => {
            let contexts = scene.containers().into_iter().map(|one| one.at("securityContext"));
            for context in std::iter::once(scene.spec.at("securityContext")).chain(contexts) {
                if context.has("windowsOptions") {
                    let detail = "windows options cannot be set for a linux pod";
                    out.forbidden(&context.at("windowsOptions"), detail);
                }
            }
        }
        "windows" => windows(scene, out),
        _ => out.unsupported_as(&system.path, &quote(name.text()), &["linux", "windows"]),
    }
}

fn windows(scene: &Scene<'_>, out: &mut Flaws) {
    let detail = "cannot be set for a windows pod";
    let (spec, context) = (&scene.spec, scene.spec.at("securityContext"));
    let set = |place: &Place<'_>| place.is() && place.value != &Value::Bool(false);
    for (of_spec, key) in [
        (false, "appArmorProfile"),
        (false, "seLinuxOptions"),
        (true, "hostUsers"),
        (true, "hostPID"),
        (true, "hostIPC"),
        (false, "seccompProfile"),
        (false, "fsGroup"),
        (false, "fsGroupChangePolicy"),
        (false, "sysctls"),
        (true, "shareProcessNamespace"),
        (false, "runAsUser"),
        (false, "runAsGroup"),
        (false, "supplementalGroups"),
        (false, "supplementalGroupsPolicy"),
        (false, "seLinuxChangePolicy"),
    ] {
        let field = if of_spec { spec.at(key) } else { context.at(key) };
        let pointer = matches!(key, "hostUsers" | "shareProcessNamespace");
        if if pointer { field.is() } else { set(&field) } {
            out.forbidden(&field, detail);
        }
    }
    for container in scene.containers() {
        for key in [
            "appArmorProfile",
            "seLinuxOptions",
            "seccompProfile",
            "capabilities",
            "readOnlyRootFilesystem",
            "privileged",
            "allowPrivilegeEscalation",
            "procMount",
            "runAsUser",
            "runAsGroup",
        ] {
            let field = container.at("securityContext").at(key);
            if field.is() {
                out.forbidden(&field, detail);
            }
        }
    }
}

/// Annotations of a time when there were no fields.
pub fn annotations(place: &Place<'_>, spec: &Place<'_>, out: &mut Flaws) {
    let profile = |key: &str, value: &Place<'_>, out: &mut Flaws| {
        let field = value.moved(place.child(key));
        match value.text() {
            "runtime/default" | "docker/default" | "unconfined" => {}
            text => match text.strip_prefix("localhost/") {
                Some(path) => {
                    let path: Value = path.into();
                    let messages = formats::descending(path.as_str().unwrap_or_default());
                    out.wrong(&Place { value: &path, path: field.path }, messages);
                }
                None => out.invalid_text(&field, "must be a valid seccomp profile"),
            },
        }
    };
    if place.value.get(OLD_POD).is_some() {
        profile(OLD_POD, &place.key(OLD_POD), out);
    }
    for (key, value) in place.members() {
        if key.starts_with(OLD_CONTAINER) {
            profile(key, &value, out);
        }
    }
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let names: Vec<&str> =
        lists.iter().flat_map(|list| spec.each(list)).map(|one| one.at("name").text()).collect();
    for (key, value) in place.members() {
        let Some(name) = key.strip_prefix(OLD_ARMOR) else { continue };
        if !names.contains(&name) {
            out.invalid_as(&value.path, &quote(name), "container not found");
        }
        let text = value.text();
        if !matches!(text, "" | "runtime/default" | "unconfined") && !text.starts_with("localhost/") {
            out.invalid_text(&value, &format!("invalid AppArmor profile name: {}", quote(text)));
        }
    }
}

/// Old annotations and new fields say the same.
pub fn annotations_match(meta: &Place<'_>, spec: &Place<'_>, out: &mut Flaws) {
    let annotation = |key: &str| meta.at("annotations").value.get(key).and_then(Value::as_str);
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let own = spec.at("securityContext");
    if let Some(text) = annotation(OLD_POD) {
        same(text, &own.at("seccompProfile"), "seccomp", out);
    }
    let containers: Vec<Place<'_>> = lists.iter().flat_map(|list| spec.each(list)).collect();
    for container in &containers {
        let name = container.at("name").text();
        if let Some(text) = annotation(&format!("{OLD_CONTAINER}{name}")) {
            same(text, &container.at("securityContext").at("seccompProfile"), "seccomp", out);
        }
    }
    if spec.at("os.name").text() == "windows" {
        return;
    }
    for container in &containers {
        let name = container.at("name").text();
        let Some(text) = annotation(&format!("{OLD_ARMOR}{name}")) else { continue };
        let field = container.at("securityContext").at("appArmorProfile");
        let value = if field.is() { field.value } else { own.at("appArmorProfile").value };
        same(text, &Place { value, path: field.path }, "apparmor", out);
    }
}

fn same(text: &str, field: &Place<'_>, what: &str, out: &mut Flaws) {
    let kind = match field.at("type").text() {
        "Unconfined" => text == "unconfined",
        "RuntimeDefault" => text == "runtime/default" || what == "seccomp" && text == "docker/default",
        "Localhost" => match text.strip_prefix("localhost/") {
            None => false,
            Some(path) => {
                let profile = field.at("localhostProfile");
                if !profile.is() || profile.text() != path {
                    out.forbidden(&profile, &format!("{what} profile in annotation and field must match"));
                }
                true
            }
        },
        _ => true,
    };
    if !kind {
        out.forbidden(&field.at("type"), &format!("{what} type in annotation and field must match"));
    }
}

/// A mount that others see needs a container that may do everything.
pub fn is_privileged(container: &Place<'_>) -> bool {
    container.at("securityContext").at("privileged").truth()
}
