//! Programs that use the client libraries, on both servers.

use podium_rig::cluster::Cluster;
use podium_rig::{paths, tools};

use super::{Pair, told};

/// `tools/clientgo`: client-go and controller-runtime.
pub fn client_go(pair: &Pair) -> usize {
    let program = tools::kubernetes("clientgo").unwrap_or_else(|error| panic!("{error}"));
    alike(pair, |cluster| told(&mut cluster.client(&program, "clientgo")))
}

/// `tools/python`: the Python package.
pub fn python(pair: &Pair) -> usize {
    let program = tools::kubernetes("python/bin/python").unwrap_or_else(|error| panic!("{error}"));
    let script = paths::tools("python/client.py");
    alike(pair, |cluster| told(cluster.client(&program, "python-home").arg(&script)))
}

/// What a program tells has to be the same, line by line, and it has to come to its end.
fn alike(pair: &Pair, tell: impl Fn(&Cluster) -> String + Sync) -> usize {
    let (real, ours) = pair.both(tell);
    assert!(real.ends_with("ended with Some(0)"), "{real}");
    let (mut a, mut b) = (real.lines(), ours.lines());
    let mut different = Vec::new();
    let mut count = 0;
    loop {
        match (a.next(), b.next()) {
            (None, None) => break,
            (one, other) if one == other => count += 1,
            (one, other) => {
                let show = |line: Option<&str>| line.unwrap_or("(nothing)").to_owned();
                different.push(format!("real: {}\nours: {}", show(one), show(other)));
            }
        }
    }
    assert!(different.is_empty(), "{} lines differ:\n{}", different.len(), different.join("\n"));
    count
}
