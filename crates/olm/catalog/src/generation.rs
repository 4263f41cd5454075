//! Which opm to be like.

/// A generation of opm's rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// opm up to 1.60, pinned by the authors of older stacks (1.51): edges per channel, fewer checks.
    V151,
    /// opm 1.61 and later (1.73).
    #[default]
    V173,
}

impl Generation {
    /// The generation of a version, such as `1.51` or `current`.
    pub fn named(name: &str) -> Option<Self> {
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
    fn generations_have_the_names_of_versions() {
        assert_eq!(Generation::named("1.51"), Some(Generation::V151));
        assert_eq!(Generation::named("v1.60.0"), Some(Generation::V151));
        assert_eq!(Generation::named("1.61"), Some(Generation::V173));
        assert_eq!(Generation::named("current"), Some(Generation::V173));
        assert_eq!(Generation::named("2.0"), None);
        assert_eq!(Generation::named("x"), None);
    }
}
