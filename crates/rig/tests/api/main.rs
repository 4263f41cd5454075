//! Our API server beside the real one: generated requests to both, and every answer compared.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests, and the figures are for people"
)]

mod apply;
mod case;
mod edges;
mod traps;

use podium_rig::api::alike::Mask;
use podium_rig::api::known::KNOWN;
use podium_rig::api::pair::Pair;
use podium_rig::api::run::Runner;

/// What may be different, by category: it only ever shrinks.
const ALLOWED: &str = include_str!("../../src/api/allowed.txt");

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn generated_requests_have_the_answers_of_the_real_server() {
    let pair = Pair::shared().unwrap();
    let begin = std::time::Instant::now();
    let (seed, cases) = (number("PODIUM_SEED", 1), number("PODIUM_CASES", 3200));
    let mut runner = Runner::new(pair, seed).unwrap();
    let only = std::env::var("PODIUM_KIND").ok();
    let trace = std::env::var("PODIUM_TRACE").ok();
    runner.told = trace.is_some().then(Vec::new);
    runner.run(usize::try_from(cases).unwrap(), only.as_deref()).unwrap();
    if let Ok(path) = std::env::var("PODIUM_EXAMPLES") {
        std::fs::write(path, runner.report.examples()).unwrap();
    }
    if let (Some(path), Some(told)) = (trace, &runner.told) {
        std::fs::write(path, told.join("\n")).unwrap();
    }
    println!("seed {seed}, {:.1} s", begin.elapsed().as_secs_f64());
    println!("{}", runner.report.table());
    println!("masked, because each server makes it itself:");
    for (mask, reason) in Mask::ALL {
        println!("  {mask:?}: {reason}");
    }
    println!("different on purpose:");
    for known in KNOWN {
        println!("  {}", known.reason);
    }
    let over = runner.report.over(ALLOWED);
    if only.is_none() && !over.is_empty() {
        println!("{}", runner.report.examples());
        assert_eq!(over, [""; 0], "PODIUM_SEED={seed} PODIUM_CASES={cases}");
    }
}
