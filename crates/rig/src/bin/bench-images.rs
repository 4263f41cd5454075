//! Measures images beside the originals in the same run: `bench-images [--quick]`; `PODIUM_BIN` is what is measured.
//!
//! Two hundred megabytes that do not compress go over loopback, from a layout into a registry and back: our client with
//! our registry, and crane with Debian's docker-registry. Then the three images of a version are built and pushed, the
//! first time and when nothing has changed.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use podium_oci::build::{Image, Layer, Rights};
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
    let layout = Layout::create(path)?.transient();
    let mut random = Random::new(1);
    let mut image = Image::new(Platform::here());
    for number in 0..layers {
        let mut data = Vec::with_capacity(megabytes * 1_000_000 + 8);
        while data.len() < megabytes * 1_000_000 {
            data.extend_from_slice(&random.word().to_le_bytes());
        }
        let mut layer = Layer::new();
        layer.file(&format!("/data/{number}"), data, Rights::default())?;
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
            let ratio = theirs / ours;
            let enough = ratio >= 1.5;
            missed += usize::from(!enough);
            let verdict = if enough { "" } else { "  MISSED" };
            writeln!(
                out,
                "{what} 200 MB in {layers:>2} layers: podium {ours:.3} s, crane with docker-registry {theirs:.3} s: {ratio:.2} x (aim 1.5 x){verdict}"
            )?;
        }
    }
    missed += author(folder, &home, out)?;
    Ok(missed)
}

/// The operator, bundle and catalog image of a version, built and pushed.
fn author(folder: &Path, home: &Path, out: &mut dyn Write) -> Answer<usize> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).ok_or("no checkout")?;
    let registry = Registry::podium(&folder.join("author"), &[])?;
    let binary: PathBuf = tools::podium()?;
    let stack = root.join("stacks/inference");
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
                command.args(["image", "build", "-t", &tag, "--push", "--entrypoint", "/podium"]);
                adds.iter().for_each(|add| {
                    command.args(["-a", add]);
                });
                run(&mut command)?;
            }
            Ok(())
        })?;
        let verdict = if seconds < aim { "" } else { "  MISSED" };
        missed += usize::from(seconds >= aim);
        writeln!(
            out,
            "build and push operator, bundle and catalog image, {what}: {seconds:.3} s (aim {aim} s){verdict}"
        )?;
    }
    let size = fs::metadata(&binary)?.len();
    writeln!(out, "(the operator's program has {:.1} MB)", size as f64 / 1e6)?;
    Ok(missed)
}
