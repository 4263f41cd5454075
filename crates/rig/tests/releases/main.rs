//! `podium release` against helm 4 on a real control plane: the same bytes, the same exit status.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod access;
mod both;
mod hostile;
mod world;

use both::{compare, each, equal, helm, podium, refused};
use world::world;

const ZONES: [&str; 2] = ["America/New_York", "Asia/Kolkata"];

const LISTS: &[&str] = &[
    "",
    "-A",
    "--all-namespaces",
    "-A --deployed",
    "-A --failed",
    "-A --pending",
    "-n one --superseded",
    "-A --uninstalled",
    "-A --uninstalling",
    "-A --superseded --deployed",
    "-A --failed --pending --uninstalled --uninstalling -o json",
    "-n one --superseded -o yaml",
    "-A --superseded -q",
    "-A --deployed=false",
    "-A -r",
    "-A -m 3",
    "-A --max 3 --offset 2",
    "-A --max=0",
    "-A --max -1",
    "-A --offset 1000",
    "-A -m 2 -o json",
    "-A -q",
    "-A --short --no-headers",
    "-A -q -o json",
    "-A -q -o yaml",
    "-A -q --max 1 -o json",
    "-A --no-headers",
    "-A -o table",
    "-A -o json",
    "-A --output yaml",
    "-A --output=yaml --no-headers",
    "-A -f ^full",
    "-A --filter l{2}$",
    "-A --filter '(?i)FULL|gone'",
    "-A --filter nothing-like-it",
    "-A --filter nothing-like-it -o json",
    "-A --filter nothing-like-it -o yaml",
    "-A --filter nothing-like-it -q",
    "-A --filter nothing-like-it -q -o json",
    "-A --filter nothing-like-it --no-headers",
    "-A --filter ''",
    "-A -l team=red",
    "-A --selector team==red,tier!=web",
    "-A -l '!team'",
    "-A -l team",
    "-A -l 'team in (red, blue)'",
    "-A -l 'team notin (red)' -q",
    "-A -l name=full",
    "-A -l status=deployed",
    "-A -l owner=helm -q",
    "-A -l owner!=helm -q",
    "-A -l empty= -q",
    "-A --superseded -l team=red",
    "-A -l ''",
    "-A --time-format 2006-01-02",
    "-A --time-format '2006-01-02 15:04:05Z0700' -o json",
    "-A --time-format 'Mon Jan _2 3:04:05.000 PM MST' -o yaml",
    "-A --time-format ''",
    "-n one",
    "-n two -o json",
    "--namespace odd",
    "-n odd -d",
    "-n odd -d -r -o yaml",
    "-n odd --pending -o json",
    "-n odd --uninstalled",
    "-n odd -o json",
    "-n odd --time-format 2006-01-02T15:04:05.999Z07:00",
    "-n not-there",
    "-n one -A -q",
];

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn lists_are_helms() {
    equal(world(), &[], &each(&["list"], LISTS));
    equal(world(), &[], &["ls -A".to_owned()]);
    for zone in ZONES {
        equal(world(), &[("TZ", zone)], &each(&["list -A"], &["", "-o json", "--time-format 15:04MST"]));
    }
}

/// Every release of the world, with its namespace.
const NAMES: &[&str] = &[
    "full -n one",
    "bare -n one",
    "a-long-name-with-1.dots -n one",
    "other -n two",
    "gone3 -n two",
    "gone4 -n two",
    "hooked -n two",
    "failed3 -n two",
];

const ODD: &[&str] = &[
    "pending-upgrade",
    "pending-install",
    "pending-rollback",
    "uninstalling",
    "unknown",
    "strange",
    "superseded",
    "no-chart-name",
    "no-app",
    "empty-deleted",
    "offset",
    "old",
    "zero",
    "far",
    "no-config",
    "empty-config",
    "no-hooks",
    "method",
    "no-method",
    "no-notes",
    "blank-notes",
    "other-namespace",
    "no-namespace",
    "dry-run",
    "wide",
    "lines",
    "controls",
    "negative",
    "unknown-fields",
];

const HISTORIES: &[&str] = &[
    "",
    "--show-rollback-revision",
    "--max 2",
    "--max=1 --show-rollback-revision",
    "--max 1 -o json",
    "--max 100",
    "-o table",
    "-o json",
    "--output yaml",
    "-o json --show-rollback-revision",
];

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn histories_are_helms() {
    let lines: Vec<String> = NAMES.iter().map(|name| format!("history {name}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    equal(world(), &[], &each(&lines, HISTORIES));
    equal(world(), &[], &each(&["hist full -n one"], &["--max 0", "--max -1", "--max 0 -o json"]));
    for zone in ZONES {
        equal(world(), &[("TZ", zone)], &each(&["history other -n two"], &["", "-o json"]));
    }
}

const GETS: &[&str] = &[
    "get all",
    "get hooks",
    "get manifest",
    "get metadata",
    "get metadata -o json",
    "get metadata --output yaml",
    "get metadata -o table",
    "get notes",
    "get values",
    "get values -o json",
    "get values -o yaml",
    "get values --all",
    "get values -a -o json",
    "get values --all --output yaml",
];

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn what_is_stored_is_printed_as_helm_prints_it() {
    equal(world(), &[], &each(GETS, NAMES));
    let revisions = ["full -n one --revision 1", "full -n one --revision 4", "other -n two --revision=2"];
    equal(world(), &[], &each(GETS, &revisions));
    let others = ["full -n one --revision 0", "full -n one --revision -1", "bare -n one --revision 2"];
    equal(world(), &[], &each(&["get metadata", "get values"], &others));
    for zone in ZONES {
        equal(
            world(),
            &[("TZ", zone)],
            &each(&["get all", "get metadata", "get metadata -o json"], &["other -n two"]),
        );
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn records_of_other_times_and_tools_are_printed_as_helm_prints_them() {
    let names: Vec<String> = ODD.iter().map(|name| format!("{name} -n odd")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let commands = [
        "get all",
        "get metadata",
        "get metadata -o json",
        "get values -o json",
        "get notes",
        "history",
        "history -o json",
        "status -o json",
    ];
    equal(world(), &[], &each(&commands, &names));
    equal(
        world(),
        &[("TZ", ZONES[0])],
        &each(&["history -o yaml", "get all"], &["offset -n odd", "old -n odd", "far -n odd"]),
    );
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn records_without_a_chart_are_shown() {
    let names = ["no-chart -n odd", "no-metadata -n odd"];
    equal(
        world(),
        &[],
        &each(&["history", "history -o json", "status -o json", "get values", "get notes"], &names),
    );
    for line in each(&["get all", "get metadata", "get metadata -o json", "get values --all"], &names) {
        let (theirs, ours) = (helm(world(), &[], &line), podium(world(), &[], &line));
        // Helm ends some of them with a stack trace.
        let same = (theirs.status, &theirs.stdout) == (ours.status, &ours.stdout);
        assert!(
            same || theirs.stderr.contains("panic: ") && matches!(ours.status, Some(0 | 1)),
            "{theirs}{ours}"
        );
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn the_status_for_programs_is_helms() {
    equal(world(), &[], &each(&["status -o json", "status --output yaml"], NAMES));
    equal(world(), &[], &each(&["status -o json full -n one"], &["--revision 1", "--revision=3"]));
    equal(world(), &[("TZ", ZONES[0])], &["status -o json other -n two".to_owned()]);
}

/// Kinds sorted, blanks squeezed, ages and what is missing left out.
fn without_order(text: &str) -> String {
    let text = match text.split_once("==> MISSING\n") {
        Some((before, rest)) => format!("{before}{}", rest.split_once("\n\n").unwrap().1),
        None => text.to_owned(),
    };
    let text = &text.replace("RESOURCES:\n\n", "");
    let (before, rest) = text.split_once("RESOURCES:\n").unwrap_or((text, ""));
    let (resources, after) = rest.split_once("\n\n\n").unwrap_or(("", rest));
    let resources = format!("{}\n", resources.trim_end());
    let squeeze = |line: &str| {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        words.pop_if(|word| word.ends_with(['s', 'm']) && word.starts_with(|c: char| c.is_ascii_digit()));
        words.join(" ")
    };
    let mut kinds: Vec<String> = resources
        .split("==> ")
        .map(|kind| {
            let mut lines: Vec<String> = kind.lines().map(squeeze).filter(|line| !line.is_empty()).collect();
            // Helm repeats the heading for each object.
            let mut seen = std::collections::BTreeSet::new();
            lines.retain(|line| !line.starts_with("NAME ") || seen.insert(line.clone()));
            lines.join("\n")
        })
        .collect();
    kinds.sort();
    format!("{before}RESOURCES:\n{}\n{}", kinds.join("\n"), after.trim_start())
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn the_status_for_people_is_helms_but_for_order_and_what_is_missing() {
    compare(world(), &[], &each(&["status", "status -o table"], NAMES), without_order);
    compare(world(), &[], &each(&["status full -n one"], &["--revision 1", "--revision 4"]), without_order);
    let odd: Vec<String> = ODD.iter().map(|name| format!("status -n odd {name}")).collect();
    compare(world(), &[("TZ", ZONES[0])], &odd, without_order);
    let missing = podium(world(), &[], "status other -n two").stdout;
    assert!(missing.contains("==> MISSING\nv1/ConfigMap other-late\n"), "{missing}");
    let missing = podium(world(), &[], "status crds-only -n odd").stdout;
    assert!(missing.contains("==> MISSING\nv1/Thing x\n"), "{missing}");
    let kinds = podium(world(), &[], "status full -n one").stdout;
    let kinds: Vec<&str> = kinds.lines().filter(|line| line.starts_with("==> ")).collect();
    let expected = [
        "==> v1/ConfigMap",
        "==> v1/ClusterRole",
        "==> v1/Service",
        "==> v1/Deployment",
        "==> v1/Pod(related)",
    ];
    assert_eq!(kinds, expected);
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn records_in_config_maps_are_read_as_helm_reads_them() {
    let env = [("HELM_DRIVER", "configmap")];
    let lists = [
        "",
        "-A",
        "-n maps -o json",
        "-n maps --superseded",
        "-n maps -l team=red -q",
        "-n maps --uninstalled -d",
    ];
    equal(world(), &env, &each(&["list"], &lists));
    let names = ["full -n maps", "bare -n maps", "gone -n maps", "full -n maps --revision 2"];
    equal(world(), &env, &each(GETS, &names));
    equal(world(), &env, &each(&["history", "history -o json", "status -o json"], &names[..3]));
    equal(world(), &[("HELM_DRIVER", "configmaps")], &each(&["list -n maps"], &["", "-q"]));
    equal(world(), &[("HELM_DRIVER", "secrets")], &each(&["list -n one"], &["", "-q"]));
    refused(world(), &env, &[("status full -n one", "release: not found")]);
}

#[test]
fn drivers_that_are_not_there_are_refused_by_name() {
    let cluster = podium_rig::cluster::Cluster::shared().unwrap();
    for driver in ["sql", "memory", "nonsense"] {
        let ran = podium(cluster, &[("HELM_DRIVER", driver)], "list");
        assert!(ran.status == Some(1) && ran.stderr.contains(&format!("{driver:?}")), "{ran}");
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn mistakes_are_named() {
    refused(
        world(),
        &[],
        &[
            ("list -o xml", "xml"),
            ("list --output=", "output"),
            ("list --max x", "x"),
            ("list --max 1.5", "1.5"),
            ("list --max 99999999999999999999", "99999999999999999999"),
            ("list --offset x", "x"),
            ("list --filter (", "("),
            ("list --filter '[z-a]'", "z-a"),
            ("list -A -l a=b=c", "a=b=c"),
            ("list -A -l 'a in (b'", "a in (b"),
            ("list -A -l =x", "=x"),
            ("list --what", "--what"),
            ("list --deployed=maybe", "maybe"),
            ("list extra", "extra"),
            ("list -n Not_A_Name/../x", "Not_A_Name/../x"),
            ("list -n ..", "\"..\""),
            ("history full -n one -o xml", "xml"),
            ("history full -n one --max x", "x"),
            ("history", "NAME"),
            ("history a b", "b"),
            ("history nothing", "release: not found"),
            ("history no/name", "no/name"),
            ("status", "NAME"),
            ("status nothing -n one", "release: not found"),
            ("status full -n not-there", "release: not found"),
            ("status full -n one --revision 99", "release: not found"),
            ("status full -n one --revision x", "x"),
            ("status full -n one -o xml", "xml"),
            ("status ..", ".."),
            ("status ../full -n one", "../full"),
            ("status full/../../x -n one", "full/../../x"),
            ("status FULL -n one", "FULL"),
            ("status '' -n one", "\"\""),
            ("status 'full,owner!=helm' -n one", "full,owner!=helm"),
            ("get all", "NAME"),
            ("get all nothing", "release: not found"),
            ("get all full -n one --revision 99", "release: not found"),
            ("get hooks full -n one --revision 99", "release: not found"),
            ("get manifest no/name", "no/name"),
            ("get metadata full -n one -o xml", "xml"),
            ("get metadata full -n one --revision 99", "release: not found"),
            ("get notes nothing", "release: not found"),
            ("get values full -n one -o xml", "xml"),
            ("get values full -n one --revision 1e3", "1e3"),
        ],
    );
    let long = "x".repeat(54);
    refused(world(), &[], &[(&format!("status {long}"), &long)]);
    for (line, thing) in
        [("get", "podium release get"), ("get nonsense full", "nonsense"), ("nonsense", "nonsense")]
    {
        let ran = podium(world(), &[], line);
        assert!(ran.status == Some(1) && ran.stderr.contains(thing), "{ran}");
    }
    // Helm ends with a stack trace.
    assert_eq!(podium(world(), &[], "list -A --offset -2").status, Some(0));
    let ran = podium(world(), &[], "status nothing -n one");
    assert_eq!(ran.stderr, helm(world(), &[], "status nothing -n one").stderr);
    assert_eq!(ran.stderr, "Error: release: not found\n");
}
