//! Measures images beside the originals in the same run: `bench-images [--quick]`; `PODIUM_BIN` is what is measured.
//!
//! Two hundred megabytes that do not compress go over loopback, from a layout into a registry and back: our client with
//! our registry, and crane with Debian's docker-registry. Then the three images of a version are built and pushed, the
//! first time and when nothing has changed, and a template of sixty bundle images is made a catalog of, by opm too.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use podium_oci::build::{FileAttributes, ImageBuilder, LayerBuilder};
use podium_oci::{Layout, Platform};
use podium_rig::bench::measure::median;
use podium_rig::random::Random;
use podium_rig::registries::{Registry, crane, podium, run};
use podium_rig::tools;

type Answer<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let folder = std::env::temp_dir().join(format!("bench-images-{}", std::process::id()));
    let quick = std::env::args().any(|word| word == "--quick");
    let done = measure(&folder, quick, &mut std::io::stdout().lock());
    let _ = fs::remove_dir_all(&folder);
    match done {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(2),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "bench-images: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A layout with an image of so many layers of so many megabytes.
fn layout(path: &Path, layers: usize, megabytes: usize) -> Answer<()> {
    let layout = Layout::create_transient(path)?;
    let mut random = Random::new(1);
    let mut image = ImageBuilder::new(Platform::host());
    for number in 0..layers {
        let mut data = Vec::with_capacity(megabytes * 1_000_000 + 8);
        while data.len() < megabytes * 1_000_000 {
            data.extend_from_slice(&random.word().to_le_bytes());
        }
        let mut layer = LayerBuilder::new();
        layer.add_file(&format!("/data/{number}"), data, FileAttributes::default())?;
        image.layers.push(layer);
    }
    let descriptor = image.write(&layout)?;
    layout.tag(&descriptor, Some("1"))?;
    Ok(())
}

fn timed(work: impl FnOnce() -> Answer<()>) -> Answer<f64> {
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed().as_secs_f64())
}

fn measure(folder: &Path, quick: bool, out: &mut dyn Write) -> Answer<usize> {
    fs::create_dir_all(folder.join("home"))?;
    let home = folder.join("home");
    let rounds = if quick { 1 } else { 5 };
    let mut missed = 0;
    for (layers, megabytes) in [(1, 200), (10, 20)] {
        let from = folder.join(format!("layout-{layers}"));
        layout(&from, layers, megabytes)?;
        let (mut ours, mut theirs) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        // One after the other, so that both see the same machine; each round begins with an empty registry.
        for round in 0..rounds {
            let place = |what: &str| folder.join(format!("{what}-{layers}-{round}"));
            let registry = Registry::podium(&place("podium"), &[])?;
            let name = format!("{}/bench:1", registry.address);
            let (source, target) =
                (format!("oci:{}:1", from.display()), format!("oci:{}:1", place("p").display()));
            ours[0].push(timed(|| {
                Ok(run(podium(&home)?.args(["image", "copy", &source, &name])).map(|_| ())?)
            })?);
            ours[1].push(timed(|| {
                Ok(run(podium(&home)?.args(["image", "copy", &name, &target])).map(|_| ())?)
            })?);
            drop(registry);
            let registry = Registry::docker(&place("docker"), None)?;
            let name = format!("{}/bench:1", registry.address);
            let (source, target) = (from.display().to_string(), place("c").display().to_string());
            theirs[0].push(timed(|| Ok(run(crane(&home)?.args(["push", &source, &name])).map(|_| ())?))?);
            theirs[1].push(timed(|| {
                Ok(run(crane(&home)?.args(["pull", "--format=oci", &name, &target])).map(|_| ())?)
            })?);
            drop(registry);
            for what in ["podium", "docker", "p", "c"] {
                fs::remove_dir_all(place(what))?;
            }
        }
        for (what, ours, theirs) in [("push", &ours[0], &theirs[0]), ("pull", &ours[1], &theirs[1])] {
            let (ours, theirs) = (median(ours.clone()), median(theirs.clone()));
            let what = format!("{what} 200 MB in {layers} layers");
            missed += beside(out, &what, ours, ("crane with docker-registry", theirs), 1.5)?;
        }
    }
    missed += author(folder, &home, out)?;
    missed += semver(folder, &home, rounds, out)?;
    Ok(missed)
}

/// A row: how often ours is done in the time of the other.
fn beside(
    out: &mut dyn Write,
    what: &str,
    ours: f64,
    (other, theirs): (&str, f64),
    aim: f64,
) -> Answer<usize> {
    let ratio = theirs / ours;
    let verdict = if ratio >= aim { "met" } else { "MISSED" };
    writeln!(
        out,
        "{what}: podium {ours:.3} s, {other} {theirs:.3} s: {ratio:.2} x (aim {aim} x, {verdict})"
    )?;
    Ok(usize::from(ratio < aim))
}

/// A semver template of sixty bundle images in our registry, made a catalog of.
fn semver(folder: &Path, home: &Path, rounds: usize, out: &mut dyn Write) -> Answer<usize> {
    const BUNDLES: usize = 60;
    let opm = tools::opm("opm173")?;
    let stack = stack()?;
    let registry = Registry::podium(&folder.join("bundles"), &[])?;
    let mut template =
        "schema: olm.semver\ngenerateMajorChannels: true\ngenerateMinorChannels: true\nstable:\n  bundles:\n"
            .to_owned();
    for number in 0..BUNDLES {
        let version = format!("{}.{}.{}", 1 + number / 30, number / 6 % 5, number % 6);
        let to = folder.join(format!("bundle-{version}")).display().to_string();
        let image = format!("{}/bundle:{version}", registry.address);
        let package = ["bundle", "generate", "--package", "inference-stack-operator", "--version", &version];
        run(podium(home)?.current_dir(&stack).args(package).args([
            "--image",
            "registry.example/operator:1",
            "-d",
            &to,
        ]))?;
        run(podium(home)?.args(["bundle", "push", &to, &image]))?;
        template.push_str(&format!("    - image: {image}\n"));
    }
    let file = folder.join("template.yaml").display().to_string();
    fs::write(&file, template)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (mut own, mut other) = (String::new(), String::new());
        let args = ["catalog", "template", "semver", &file, "-o", "json"];
        ours.push(timed(|| {
            own = run(podium(home)?.args(args))?;
            Ok(())
        })?);
        let args = ["alpha", "render-template", "semver", &file, "-o", "json", "--use-http"];
        theirs.push(timed(|| {
            other = run(tools::quiet_command(&opm).env("HOME", home).args(args))?;
            Ok(())
        })?);
        if own != other {
            return Err("podium and opm make different catalogs of the template".into());
        }
    }
    let what = format!("semver template over {BUNDLES} bundle images");
    beside(out, &what, median(ours), ("opm 1.73", median(theirs)), 5.0)
}

/// The inference stack of this checkout.
fn stack() -> Answer<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).ok_or("no checkout")?;
    Ok(root.join("stacks/inference"))
}

/// The operator, bundle and catalog image of a version, built and pushed.
fn author(folder: &Path, home: &Path, out: &mut dyn Write) -> Answer<usize> {
    let registry = Registry::podium(&folder.join("author"), &[])?;
    let binary: PathBuf = tools::podium()?;
    let stack = stack()?;
    fs::create_dir_all(folder.join("configs"))?;
    fs::write(folder.join("configs/catalog.yaml"), "schema: olm.package\nname: x\n".repeat(1000))?;
    let adds = [
        ("operator", vec![format!("{}:/podium", binary.display()), format!("{}:/operator", stack.display())]),
        ("operator-bundle", vec![format!("{}:/manifests", stack.join("crds").display())]),
        ("operator-catalog", vec![format!("{}:/configs", folder.join("configs").display())]),
    ];
    let mut missed = 0;
    for (what, aim) in [("first time", 2.0), ("nothing changed", 0.3)] {
        let seconds = timed(|| {
            for (name, adds) in &adds {
                let tag = format!("{}/{name}:1.0.0", registry.address);
                let mut command = podium(home)?;
                command.args(["image", "build", "-t", &tag, "--push"]);
                if *name == "operator" {
                    command.args(["--entrypoint", "/podium"]);
                }
                adds.iter().for_each(|add| {
                    command.args(["-a", add]);
                });
                run(&mut command)?;
            }
            Ok(())
        })?;
        let verdict = if seconds < aim { "met" } else { "MISSED" };
        missed += usize::from(seconds >= aim);
        writeln!(
            out,
            "build and push operator, bundle and catalog image, {what}: {seconds:.3} s (aim {aim} s, {verdict})"
        )?;
    }
    let size = fs::metadata(&binary)?.len();
    writeln!(out, "(the operator's program has {:.1} MB)", size as f64 / 1e6)?;
    Ok(missed)
}
