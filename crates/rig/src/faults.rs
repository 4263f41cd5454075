//! Runs a controller process under fault plans: whatever goes wrong, a step ends in the state of an undisturbed run.
//!
//! The process talks to the API server through the [`Proxy`] and needs no code of its own for this: a
//! [`FaultRun`] starts it with the kubeconfig of the proxy, performs the steps of a story, and starts it again whenever a
//! plan has killed it.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::Cluster;
use crate::cluster::admin::Admin;
use crate::proxy::{Blow, Plan, Proxy};
use crate::random::Random;

/// The faults that every write gets, one after the other.
pub const BLOWS: [Blow; 4] = [Blow::KillLost, Blow::Lost, Blow::KillBefore, Blow::KillAfter];
/// A process that writes nothing for this long has nothing more to do.
const QUIET: Duration = Duration::from_secs(2);

/// Waits until the process behind a proxy writes nothing more, or `patience` is over.
pub fn wait_until_quiet(proxy: &Proxy, patience: Duration) {
    let begin = Instant::now();
    let (mut writes, mut since) = (usize::MAX, Instant::now());
    while since.elapsed() < QUIET && begin.elapsed() < patience {
        let now = proxy.numbers()[0];
        if now != writes {
            (writes, since) = (now, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the state is the expected one and stays so while nothing is written; the process is started again when it
/// was killed. Returns how many faults have struck, or the last state.
pub fn converge<S: PartialEq>(
    proxy: &Proxy,
    restart: &dyn Fn(),
    state: &dyn Fn() -> S,
    expected: &S,
    patience: Duration,
) -> Result<usize, S> {
    let begin = Instant::now();
    let (mut writes, mut read_at) = (usize::MAX, Instant::now() - patience);
    let mut was_equal = false;
    loop {
        std::thread::sleep(Duration::from_millis(50));
        if proxy.ended().is_some() {
            restart();
        }
        let now = proxy.numbers()[0];
        let quiet = now == writes;
        writes = now;
        if !quiet || read_at.elapsed() < Duration::from_millis(if was_equal { 120 } else { 300 }) {
            was_equal &= quiet;
            continue;
        }
        read_at = Instant::now();
        let state = state();
        match (state == *expected, was_equal) {
            (true, true) => return Ok(proxy.struck()),
            (true, false) => was_equal = true,
            (false, _) if begin.elapsed() > patience => return Err(state),
            (false, _) => was_equal = false,
        }
    }
}

/// The plans of a step with so many writes: an old first read, the first fault on every write, some random plans, the
/// other faults on every write, and then random ones, until there are enough.
pub fn plans(step: &str, writes: usize, enough: usize, seed: u64) -> Vec<Plan> {
    let every = |blow: Blow| (1..=writes).map(move |n| Plan::blow(n, blow));
    let random = |index: usize| Plan::random(&mut Random::for_case(seed, step, index as u64), writes.max(4));
    let old_read = Plan { reads: [1].into(), ..Plan::default() };
    let first = BLOWS.iter().take(1).copied().flat_map(every);
    let rest = BLOWS.iter().skip(1).copied().flat_map(every);
    let begin = std::iter::once(old_read).chain(first);
    begin.chain((0..8).map(random)).chain(rest).chain((8..).map(random)).take(enough).collect()
}

/// The end of a step without faults.
pub struct StepEnd {
    /// The state of the namespace.
    pub state: Value,
    /// How many writes the process did.
    pub writes: usize,
}

/// A controller process and the story that it is tested with.
pub struct FaultRun<'r> {
    /// The cluster.
    pub cluster: &'r Cluster,
    /// The command of the process for a namespace; KUBECONFIG is set by the run.
    pub command: &'r dyn Fn(&str) -> Command,
    /// The names of the steps, in order.
    pub steps: &'r [&'r str],
    /// Performs a step in a namespace, as a user would.
    pub act: &'r dyn Fn(&Admin, &str, &str),
    /// Reads what counts of a namespace.
    pub state: &'r dyn Fn(&Admin, &str) -> Value,
    /// How long a step may take after its faults.
    pub patience: Duration,
}

impl FaultRun<'_> {
    /// Runs all steps without faults.
    pub fn undisturbed(&self) -> Result<Vec<StepEnd>, String> {
        let proxy = Proxy::start(self.cluster).map_err(|error| error.to_string())?;
        let namespace = self.begin(&proxy, "undisturbed")?;
        let ends = self.steps.iter().map(|step| {
            proxy.plan(Plan::default());
            (self.act)(self.cluster.admin(), &namespace, step);
            wait_until_quiet(&proxy, self.patience);
            let state = (self.state)(self.cluster.admin(), &namespace);
            StepEnd { state, writes: proxy.numbers()[0] }
        });
        let ends = ends.collect();
        proxy.kill();
        Ok(ends)
    }

    /// Runs the story again and again, each time with other plans, until every write of every step had every fault or the
    /// time is over. Returns how many plans have run.
    pub fn with_faults(&self, expected: &[StepEnd], budget: Duration) -> Result<usize, String> {
        let most = expected.iter().map(|end| end.writes).max().unwrap_or(0);
        let stories = most * BLOWS.len() + 9;
        let all: Vec<Vec<Plan>> =
            self.steps.iter().zip(expected).map(|(step, end)| plans(step, end.writes, stories, 1)).collect();
        let (begin, mut done) = (Instant::now(), 0);
        let proxy = Proxy::start(self.cluster).map_err(|error| error.to_string())?;
        for story in 0..stories {
            if begin.elapsed() > budget {
                break;
            }
            let namespace = self.begin(&proxy, &story.to_string())?;
            for ((step, plans), end) in self.steps.iter().zip(&all).zip(expected) {
                proxy.plan(plans[story].clone());
                (self.act)(self.cluster.admin(), &namespace, step);
                let restart = || drop(self.start(&proxy, &namespace));
                let state = || (self.state)(self.cluster.admin(), &namespace);
                converge(&proxy, &restart, &state, &end.state, self.patience).map_err(|last| {
                    let log = proxy.log().join("\n");
                    format!("{step} with {:?}: {} expected, {last} found\n{log}", plans[story], end.state)
                })?;
                done += 1;
            }
            proxy.kill();
        }
        Ok(done)
    }

    /// Starts the process in a namespace of its own.
    fn begin(&self, proxy: &Proxy, name: &str) -> Result<String, String> {
        let namespace = format!("faults-{name}");
        self.cluster.namespace(&namespace).map_err(|error| error.to_string())?;
        proxy.kill();
        proxy.forget();
        proxy.plan(Plan::default());
        self.start(proxy, &namespace)?;
        Ok(namespace)
    }

    fn start(&self, proxy: &Proxy, namespace: &str) -> Result<(), String> {
        let mut command = (self.command)(namespace);
        command.env("KUBECONFIG", proxy.kubeconfig());
        proxy.run(&mut command).map_err(|error| error.to_string())
    }
}
