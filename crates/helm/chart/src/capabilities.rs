//! What a cluster can do, or is said to be able to do.

use crate::dialect::Dialect;

/// The capabilities that templates see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The version of Kubernetes.
    pub kube_version: KubeVersion,
    /// Its API versions: `group/version`, and `group/version/Kind` when a cluster was asked.
    pub api_versions: Vec<String>,
}

/// A version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeVersion {
    /// The whole version.
    pub version: String,
    /// The version without suffixes; empty when a cluster was asked.
    pub normalized: String,
    /// The major part.
    pub major: String,
    /// The minor part.
    pub minor: String,
}

/// A text that is no version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KubeVersionError(String);

impl Default for Capabilities {
    /// What is assumed without a cluster.
    fn default() -> Self {
        Self {
            kube_version: KubeVersion {
                version: "v1.37.0".to_owned(),
                normalized: "v1.37.0".to_owned(),
                major: "1".to_owned(),
                minor: "37".to_owned(),
            },
            api_versions: API_VERSIONS.iter().map(|v| (*v).to_owned()).collect(),
        }
    }
}

impl KubeVersion {
    /// What constraints are checked against.
    pub fn comparable(&self) -> &str {
        if self.normalized.is_empty() { &self.version } else { &self.normalized }
    }

    /// Reads a version the way Kubernetes does: at least two numbers, with a `v` in front and anything behind.
    pub fn parse(text: &str, dialect: &Dialect) -> Result<Self, KubeVersionError> {
        let trimmed = text.trim_start_matches(['\t', '\n', '\x0c', '\r', ' ']);
        let numbers = trimmed.strip_prefix('v').unwrap_or(trimmed);
        let mut end = numbers.bytes().take_while(u8::is_ascii_digit).count();
        // Anything may follow the numbers except a line break, which the original's pattern does not cross.
        if end == 0 || numbers.contains('\n') {
            return Err(KubeVersionError(format!("could not parse {text:?} as version")));
        }
        loop {
            let more = numbers[end..].strip_prefix('.').unwrap_or("");
            match more.bytes().take_while(u8::is_ascii_digit).count() {
                0 => break,
                n => end += 1 + n,
            }
        }
        let parts: Vec<&str> = numbers[..end].split('.').collect();
        if parts.len() < 2 {
            return Err(KubeVersionError(format!("illegal version string {text:?}")));
        }
        let mut values = Vec::with_capacity(parts.len());
        for (i, part) in parts.iter().enumerate() {
            if i == 0 && part.len() > 1 && part.starts_with('0') {
                return Err(KubeVersionError(format!(
                    "illegal zero-prefixed version component {part:?} in {text:?}"
                )));
            }
            let value: u64 = part.parse().map_err(|_| {
                KubeVersionError(format!(
                    "illegal non-numeric version component {part:?} in {text:?}: strconv.ParseUint: parsing {part:?}: \
                     value out of range"
                ))
            })?;
            values.push(value.to_string());
        }
        let normalized = format!("v{}", values.join("."));
        let version = if !dialect.kube_version_keeps_suffix {
            normalized.clone()
        } else if text.starts_with('v') {
            text.to_owned()
        } else {
            format!("v{text}")
        };
        Ok(Self { version, normalized, major: values.swap_remove(0), minor: minor(&parts) })
    }
}

fn minor(parts: &[&str]) -> String {
    parts.get(1).and_then(|p| p.parse::<u64>().ok()).unwrap_or(0).to_string()
}

/// The API versions that Helm assumes without a cluster, in its order.
const API_VERSIONS: &[&str] = &[
    "v1",
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "internal.apiserver.k8s.io/v1alpha1",
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1",
    "authentication.k8s.io/v1alpha1",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1",
    "authorization.k8s.io/v1beta1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "batch/v1beta1",
    "certificates.k8s.io/v1",
    "certificates.k8s.io/v1beta1",
    "certificates.k8s.io/v1alpha1",
    "coordination.k8s.io/v1alpha2",
    "coordination.k8s.io/v1beta1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "lifecycle.k8s.io/v1alpha1",
    "networking.k8s.io/v1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1",
    "rbac.authorization.k8s.io/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1",
    "resource.k8s.io/v1",
    "resource.k8s.io/v1beta2",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1beta1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1beta1",
    "storage.k8s.io/v1",
    "storage.k8s.io/v1alpha1",
    "storagemigration.k8s.io/v1",
    "storagemigration.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{HELM3, HELM4};

    #[test]
    fn versions_are_read_as_kubernetes_reads_them() {
        for (text, helm4, helm3) in [
            ("1.29", "v1.29", "v1.29"),
            ("v1.33.4-gke.1", "v1.33.4-gke.1", "v1.33.4"),
            ("1.02.3", "v1.02.3", "v1.2.3"),
            ("1.2.3.4", "v1.2.3.4", "v1.2.3.4"),
            (" 1.2", "v 1.2", "v1.2"),
        ] {
            assert_eq!(KubeVersion::parse(text, &HELM4).unwrap().version, helm4);
            assert_eq!(KubeVersion::parse(text, &HELM3).unwrap().version, helm3);
        }
        for (text, want) in [
            ("1", "illegal version string \"1\""),
            ("x", "could not parse \"x\" as version"),
            ("v01.2", "illegal zero-prefixed version component \"01\" in \"v01.2\""),
            ("1.a", "illegal version string \"1.a\""),
        ] {
            assert_eq!(KubeVersion::parse(text, &HELM4).unwrap_err().to_string(), want);
        }
    }
}
