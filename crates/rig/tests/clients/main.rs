//! Real clients: the same command lines and programs on the real servers and on ours, and what they print.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests, and the differences are for people"
)]

mod lines;
mod masks;
mod programs;

use std::process::{Command, Output};

use podium_rig::cluster::{Cluster, Controllers, Options, Server};

/// Both servers with the real controllers, and a node that runs nothing.
struct Pair {
    real: Cluster,
    ours: Cluster,
}

impl Pair {
    fn start(node: bool) -> Self {
        let start = |server| {
            let options = Options {
                server: Some(server),
                controllers: Controllers::Upstream,
                node,
                ..Options::default()
            };
            Cluster::with(options)
                .unwrap_or_else(|error| panic!("needs the upstream programs (make tools): {error}"))
        };
        let (real, ours) = std::thread::scope(|scope| {
            let real = scope.spawn(|| start(Server::Kubernetes));
            let ours = scope.spawn(|| start(Server::Podium));
            (real.join().unwrap(), ours.join().unwrap())
        });
        Pair { real, ours }
    }

    /// The same on both.
    fn both<T: Send>(&self, work: impl Fn(&Cluster) -> T + Sync) -> (T, T) {
        std::thread::scope(|scope| {
            let one = scope.spawn(|| work(&self.real));
            let other = scope.spawn(|| work(&self.ours));
            (one.join().unwrap(), other.join().unwrap())
        })
    }
}

/// What a command printed, and how it ended.
fn text(output: &Output) -> String {
    let all = [output.stdout.as_slice(), &output.stderr].concat();
    format!("{}\nended with {:?}", String::from_utf8_lossy(&all), output.status.code())
}

/// What a program tells; what it complains of only if it fails, because libraries write there what depends on the moment.
fn told(command: &mut Command) -> String {
    let mut output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    if output.status.success() {
        output.stderr.clear();
    }
    text(&output)
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn the_first_hour_is_the_same_on_both_servers() {
    let count = lines::same(&Pair::start(false), include_str!("first-hour.txt"));
    println!(
        "the first hour: {count} command lines of kubectl, helm 3 and helm 4, all with the same outcome"
    );
    assert!(count > 80);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn whoever_knows_kubernetes_well_sees_no_difference() {
    let count = lines::same(&Pair::start(true), include_str!("more.txt"));
    println!(
        "more: {count} command lines of kubectl (two versions), helm 3 and helm 4, all with the same outcome"
    );
    assert!(count > 300);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn programs_see_the_same_on_both_servers() {
    let pair = Pair::start(false);
    let count = programs::client_go(&pair) + programs::python(&pair);
    println!("client-go, controller-runtime and Python: {count} lines told, all alike");
    assert!(count > 400);
}
