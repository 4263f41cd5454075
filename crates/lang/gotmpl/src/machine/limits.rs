//! How much a render may use.

/// The limits of one render. They stop a hostile template; no chart in use comes near the defaults.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Instructions of all templates of the render together.
    pub steps: u64,
    /// Templates that are being executed inside each other.
    pub depth: usize,
    /// Bytes of output of one file.
    pub output: usize,
    /// Bytes of lists, maps and large strings.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 2_000_000_000, depth: 150_000, output: 256 << 20, memory: 1 << 30 }
    }
}
