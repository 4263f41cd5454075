//! Random writes and patches, answered by kube-apiserver's own packages and by us: all must be equal.
//! `PODIUM_CASES` is how many of each; `PODIUM_SEED` begins elsewhere.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests")]

mod patches;
mod probe;
mod random;
mod record;
mod speed;
#[path = "../recorded/world.rs"]
mod world;
mod writes;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn cases() -> u64 {
    number("PODIUM_CASES", 300)
}

fn seed() -> u64 {
    number("PODIUM_SEED", 1)
}
