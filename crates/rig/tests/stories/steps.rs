//! What happens in a story: command lines that helm and podium both take.

use podium_rig::random::Random;

use crate::charts::VERSIONS;

/// One thing that is done with the release.
#[derive(Clone, Debug)]
pub struct Step {
    /// The command line after `helm` or `podium release`; `@` is the folder of the charts.
    pub line: String,
}

impl Step {
    /// Whether it changes the release, when it ends well.
    pub fn changes(&self) -> bool {
        !self.line.starts_with("history") && !self.line.starts_with("test")
    }
}

/// The steps of a story.
pub fn steps(seed: u64) -> Vec<Step> {
    let mut random = Random::for_case(seed, "steps", 0);
    let length = random.between(3, 8) as usize;
    let mut state = State::default();
    let mut steps = vec![install(&mut random, &mut state)];
    while steps.len() < length {
        steps.push(match (state.present, random.below(100)) {
            (false, 0..60) => install(&mut random, &mut state),
            (false, 60..75) => upgrade(&mut random, &mut state, true),
            (false, 75..85) if state.revisions > 0 => rollback(&mut random, &mut state),
            (false, _) => plain(["history r", "uninstall r", "upgrade r @/v1"][random.below(3)]),
            (true, 0..40) => upgrade(&mut random, &mut state, false),
            (true, 40..65) => failing(&mut random, &mut state),
            (true, 65..80) => rollback(&mut random, &mut state),
            (true, 80..92) => uninstall(&mut random, &mut state),
            (true, 92..96) => plain(&format!("install r @/v{}", 1 + random.below(VERSIONS))),
            (true, _) => plain("test r"),
        });
    }
    steps
}

/// What is true when all goes well.
#[derive(Default)]
struct State {
    present: bool,
    revisions: usize,
}

fn plain(line: &str) -> Step {
    Step { line: line.to_owned() }
}

fn values(random: &mut Random) -> String {
    let sets = [
        "",
        "--set note=x",
        "--set note=y,deep.a=7",
        "--set replicas=1",
        "--set deep=null",
        "--set list={1,b}",
        "--set-string note=1",
    ];
    [random.pick(&sets), random.pick_or(&[""], 20, &sets)].join(" ")
}

fn extras(random: &mut Random) -> String {
    let all = [
        "--no-hooks",
        "--wait --timeout 40s",
        "--description <said>",
        "--labels team=red,tier=web",
        "--labels team=null",
        "--labels team=blue",
    ];
    all.iter().filter(|_| random.chance(12)).copied().collect::<Vec<_>>().join(" ")
}

fn version(random: &mut Random) -> usize {
    1 + random.below(VERSIONS)
}

fn install(random: &mut Random, state: &mut State) -> Step {
    let replace = if state.revisions > 0 || random.chance(10) { "--replace" } else { "" };
    let more = random.pick_or(&[""], 30, &["--create-namespace", "--hide-notes", "-o json"]);
    let fails = random.pick_or(
        &[""],
        12,
        &["--set refused=true", "--set hookfails=pre-install", "--set refused=true --rollback-on-failure"],
    );
    state.present = true;
    state.revisions += 1;
    let (version, values, extras) =
        (version(random), values(random), extras(random).replace("team=null", "team=green"));
    plain(&format!("install r @/v{version} {values} {extras} {replace} {more} {fails}"))
}

fn upgrade(random: &mut Random, state: &mut State, install: bool) -> Step {
    let reuse = random.pick(&["", "", "--reuse-values", "--reset-values", "--reset-then-reuse-values"]);
    let more = random.pick_or(
        &[""],
        25,
        &["--history-max 2", "--history-max 1", "--skip-crds", "-o json", "--hide-notes"],
    );
    let install = if install || random.chance(20) { "-i" } else { "" };
    state.present = true;
    state.revisions += 1;
    let (version, values, extras) = (version(random), values(random), extras(random));
    plain(&format!("upgrade r @/v{version} {install} {values} {reuse} {extras} {more}"))
}

fn failing(random: &mut Random, state: &mut State) -> Step {
    let why = random.pick(&[
        "--set refused=true",
        "--set immutable=y",
        "--set hookfails=pre-upgrade",
        "--set hookfails=post-upgrade",
        "--set hookfails=pre-upgrade --set policy=hook-failed",
        "--set refused=true --cleanup-on-fail",
        "--set refused=true --rollback-on-failure --timeout 40s",
        "--set schema=no,deep=5",
    ]);
    state.revisions += 1;
    plain(&format!(
        "upgrade r @/v{} {why} {}",
        version(random),
        extras(random).replace("--wait --timeout 40s", "")
    ))
}

fn rollback(random: &mut Random, state: &mut State) -> Step {
    let to = match random.below(4) {
        0 => String::new(),
        1 => "0".to_owned(),
        _ => (1 + random.below(state.revisions + 1)).to_string(),
    };
    let more = random.pick_or(
        &[""],
        25,
        &["--no-hooks", "--history-max 2", "--wait --timeout 40s", "--description back"],
    );
    state.present = true;
    state.revisions += 1;
    plain(&format!("rollback r {to} {more}"))
}

fn uninstall(random: &mut Random, state: &mut State) -> Step {
    let keep = random.chance(60);
    let more = random.pick_or(
        &[""],
        25,
        &["--no-hooks", "--description gone", "--wait --timeout 40s", "--cascade orphan"],
    );
    state.present = false;
    if !keep {
        state.revisions = 0;
    }
    plain(&format!("uninstall r {} {more}", if keep { "--keep-history" } else { "" }))
}
