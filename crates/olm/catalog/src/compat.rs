//! Compatibility levels of opm.

/// The opm release whose behavior is reproduced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpmCompat {
    /// opm up to 1.60 (tested with 1.51): upgrade edges per channel, fewer checks.
    V151,
    /// opm 1.61 and later (tested with 1.73).
    #[default]
    V173,
}

impl OpmCompat {
    /// Returns the level for an opm version such as `1.51`, or for `current`.
    pub fn from_version(name: &str) -> Option<Self> {
        let minor = |text: &str| -> Option<u32> {
            let mut parts = text.trim_start_matches('v').split('.');
            (parts.next()? == "1").then(|| parts.next()?.parse().ok())?
        };
        match name {
            "" | "current" => Some(Self::V173),
            _ => minor(name).map(|minor| if minor <= 60 { Self::V151 } else { Self::V173 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_opm_versions_to_compat_levels() {
        assert_eq!(OpmCompat::from_version("1.51"), Some(OpmCompat::V151));
        assert_eq!(OpmCompat::from_version("v1.60.0"), Some(OpmCompat::V151));
        assert_eq!(OpmCompat::from_version("1.61"), Some(OpmCompat::V173));
        assert_eq!(OpmCompat::from_version("current"), Some(OpmCompat::V173));
        assert_eq!(OpmCompat::from_version("2.0"), None);
        assert_eq!(OpmCompat::from_version("x"), None);
    }
}
