//! Whatever can answer a render: Podium, an original, or a wrapper that breaks one on purpose.

use crate::request::{Outcome, RenderRequest};

/// A renderer under test.
pub trait Subject: Sync {
    /// How reports call it.
    fn name(&self) -> String;

    /// Renders from nothing; the outcome of one request never depends on another.
    fn render(&self, request: &RenderRequest) -> Outcome;

    /// Renders many; overridden where asking one at a time would be slow.
    fn render_many(&self, requests: &[RenderRequest]) -> Vec<Outcome> {
        requests.iter().map(|request| self.render(request)).collect()
    }

    /// Starts over, with what a process draws once: Go puts its heap at a random address.
    fn start_over(&self) {}
}
