//! Records the originals' answers anew (`record --write`), or fails where they are no longer the recorded ones.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use podium_rig::podium::Podium;
use podium_rig::probe::Probe;
use podium_rig::record;
use podium_rig::request::Dialect;
use podium_rig::subject::Subject;
use podium_rig::{charts, paths};

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    let has = |flag: &str| std::env::args().any(|arg| arg == flag);
    let write = has("--write");
    match run(write, has("--charts"), &mut out) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(out, "record: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(write: bool, only_charts: bool, out: &mut dyn Write) -> Result<bool, Box<dyn Error>> {
    let (three, four) = (Probe::start(Dialect::Helm3)?, Probe::start(Dialect::Helm4)?);
    let originals: BTreeMap<Dialect, &dyn Subject> =
        BTreeMap::from([(Dialect::Helm3, &three as &dyn Subject), (Dialect::Helm4, &four)]);
    let charts = charts::discover(&paths::tests("charts"))?;
    let expected = charts::record(&charts, &charts::Helm)?;
    if write {
        charts::write(&charts, &expected)?;
        writeln!(out, "recorded {} answers of {} chart cases", expected.len(), charts.len())?;
    }
    let stale = charts::stale(&expected);
    for path in stale.iter().take(10) {
        writeln!(out, "{} is no longer what the original prints", path.display())?;
    }
    writeln!(out, "{} chart cases, {} changed answers", charts.len(), stale.len())?;

    if only_charts {
        return Ok(stale.is_empty());
    }
    let folder = paths::tests("recorded");
    let cases = record::cases(&paths::tests("cases"))?;
    if write {
        let records = record::make(cases, &originals);
        record::write(&folder, &records)?;
        let kept = records.iter().filter(|r| r.answers.is_some()).count();
        writeln!(out, "recorded {kept} of {} cases", records.len())?;
        return Ok(true);
    }

    let records = record::read(&folder)?;
    let known: BTreeSet<&str> = records.iter().map(|r| r.case.id.as_str()).collect();
    let made: BTreeSet<&str> = cases.iter().map(|c| c.id.as_str()).collect();
    for id in known.symmetric_difference(&made).take(10) {
        writeln!(out, "{id} is only {}", if known.contains(id) { "recorded" } else { "generated" })?;
    }
    let requests: BTreeMap<&str, _> = cases.iter().map(|c| (c.id.as_str(), &c.request)).collect();
    let moved = records
        .iter()
        .filter(|r| {
            r.answers.is_some() && requests.get(r.case.id.as_str()).is_some_and(|q| **q != r.case.request)
        })
        .count();
    let differences = record::check(&records, &originals, &Podium);
    for difference in differences.iter().take(10) {
        let (recorded, now) = difference.excerpts();
        writeln!(out, "=== {}\n--- recorded\n{recorded}\n--- now\n{now}", difference.case.id)?;
    }
    writeln!(
        out,
        "{} records, {} changed answers, {moved} changed requests, {} missing or surplus",
        records.len(),
        differences.len(),
        known.symmetric_difference(&made).count()
    )?;
    Ok(differences.is_empty() && moved == 0 && known == made && stale.is_empty())
}
