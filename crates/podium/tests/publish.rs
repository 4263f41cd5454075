//! The authors' flow of the inference stack, from its folder to a registry of this machine: two majors side by side, and the
//! mistakes that the flow stops.

#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use podium_goyaml::{json, yaml};
use serde_json::Value;

const PODIUM: &str = env!("CARGO_BIN_EXE_podium");

fn stack() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../stacks/inference")
}

/// A registry, and a folder for what is built.
struct Shop {
    registry: Child,
    address: String,
    folder: PathBuf,
}

impl Shop {
    fn open(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("publish").join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        // What runs in the image is not run here, and ours is large; but it has to look as if it could start.
        std::fs::write(folder.join("program"), "a program\n").unwrap();
        let mut registry = Command::new(PODIUM)
            .args(["registry", "serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.join("registry"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (out, errors) = (registry.stdout.take().unwrap(), registry.stderr.take().unwrap());
        let (sender, receiver) = std::sync::mpsc::channel();
        for stream in [Box::new(out) as Box<dyn std::io::Read + Send>, Box::new(errors)] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                BufReader::new(stream).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
            });
        }
        let address = receiver
            .iter()
            .find_map(|line| {
                let rest = line.split_once("http://")?.1;
                Some(rest.split_once(',').map_or(rest, |(address, _)| address).to_owned())
            })
            .unwrap();
        Self { registry, address, folder }
    }

    fn image(&self, name: &str) -> String {
        format!("{}/{name}", self.address)
    }

    fn run(&self, command: &mut Command) -> (bool, String, String) {
        let output = command.env("PODIUM_DATA", &self.folder).current_dir(stack()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    }

    fn make(&self, words: &[&str]) -> (bool, String, String) {
        let set = [
            format!("PODIUM={PODIUM}"),
            format!("PROGRAM={}", self.folder.join("program").display()),
            format!("OUT={}", self.folder.join("build").display()),
            format!("IMAGE_TAG_BASE={}", self.image("operator")),
        ];
        // Whoever runs the tests by make says things to its own.
        let mut make = Command::new("make");
        make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").args(words).args(set);
        self.run(&mut make)
    }

    fn made(&self, words: &[&str]) -> String {
        let (fine, out, errors) = self.make(words);
        assert!(fine, "make {words:?}: {out}{errors}");
        out
    }

    fn podium(&self, words: &[&str]) -> (bool, String, String) {
        self.run(Command::new(PODIUM).args(words))
    }

    fn refused(&self, (fine, out, errors): (bool, String, String), words: &str) {
        assert!(!fine && errors.contains(words), "{out}{errors}");
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.registry.kill();
        let _ = self.registry.wait();
    }
}

#[test]
fn two_majors_are_published_side_by_side_and_mistakes_are_stopped() {
    let shop = Shop::open("majors");
    shop.made(&["bundle-build-push", "VERSION=0.1.0", "CRD_VERSION=v1alpha1"]);
    shop.made(&["bundle-build-push"]);
    let graph = shop.made(&["catalog-check"]);
    for channel in ["fast-v0", "fast-v1", "stable-v0", "stable-v1 (default)"] {
        assert!(graph.contains(channel), "{graph}");
    }
    shop.made(&["catalog-build-push"]);
    // Nothing changed, so nothing is another image.
    shop.made(&["bundle-build-push"]);
    shop.made(&["catalog-build-push"]);

    let catalog = shop.image("operator-catalog:1.0.0");
    for (channel, version) in [("stable-v0", "0.1.0"), ("stable-v1", "1.0.0")] {
        let resolve =
            ["catalog", "resolve", &catalog, "--package", "inference-stack-operator", "--channel", channel];
        let (fine, out, errors) = shop.podium(&resolve);
        let expected = format!(
            "inference-stack-operator.v{version} (version {version}, image {}",
            shop.image("operator-bundle")
        );
        assert!(fine && out.starts_with(&expected), "{out}{errors}");
    }
    let (_, operator, _) =
        shop.podium(&["image", "inspect", &shop.image("operator:1.0.0"), "--remote", "--files"]);
    for part in ["/podium\n", "/opt/helm/watches.yaml", "/opt/helm/helm-charts/inference-stack/Chart.yaml"] {
        assert!(operator.contains(part), "{operator}");
    }

    let template = shop.folder.join("fewer.yaml");
    let whole = std::fs::read_to_string(shop.folder.join("build/operator_catalog.yaml")).unwrap();
    let fewer: String =
        whole.lines().filter(|line| !line.contains(":0.1.0")).map(|line| format!("{line}\n")).collect();
    std::fs::write(&template, fewer).unwrap();
    let template = template.to_str().unwrap();
    let next = shop.image("operator-catalog:1.1.0");
    shop.refused(shop.podium(&["catalog", "push", template, &next]), "inference-stack-operator.v0.1.0 is in");

    shop.refused(shop.make(&["bundle", "VERSION=1.1.0", "CRD_VERSION=v1alpha1"]), "set CRD_VERSION");
    let bundle = shop.folder.join("build/1.0.0/bundle");
    let taken = shop.image("operator-bundle:0.1.0");
    shop.refused(shop.podium(&["bundle", "push", bundle.to_str().unwrap(), &taken]), "the tag says 0.1.0");
    // The version was not raised.
    std::fs::write(shop.folder.join("program"), "another program\n").unwrap();
    shop.refused(shop.make(&["operator-build-push"]), "operator:1.0.0 is there already");
    let short = ["catalog", "add", "catalog/operator_catalog.yaml", "tytn/operator-bundle:1.1.0"];
    shop.refused(shop.podium(&short), "write docker.io/tytn/operator-bundle:1.1.0");

    // A chart without the kinds of the operators.
    let chart = shop.folder.join("chart");
    std::fs::create_dir_all(&chart).unwrap();
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: catalog\nversion: 1.0.0\n").unwrap();
    let whole = shop.folder.join("build/operator_catalog.yaml");
    let push = ["catalog", "push", whole.to_str().unwrap(), &next, "--chart", chart.to_str().unwrap()];
    shop.refused(shop.podium(&push), "InferenceStack in models.takeoff.co/v1alpha2");
}

/// The objects of the catalog chart.
fn chart(flags: &[&str]) -> Result<Vec<Value>, String> {
    let words = ["chart", "template", "catalog", "charts/catalog", "-n", "sys"];
    let output = Command::new(PODIUM).args(words).args(flags).current_dir(stack()).output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let object = |document: &str| {
        let node = yaml::parse_exact(document.as_bytes(), 0).unwrap();
        serde_json::from_slice(&json::to_string(&&node).unwrap()).unwrap()
    };
    Ok(text.split("\n---\n").map(object).collect())
}

fn of_kind<'o>(objects: &'o [Value], kind: &str) -> Vec<&'o Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

#[test]
fn the_catalog_chart_takes_both_spellings_of_the_extensions() {
    let plain = chart(&[]).unwrap();
    assert_eq!(of_kind(&plain, "ClusterCatalog").len(), 1);
    assert_eq!(of_kind(&plain, "CustomResourceDefinition").len(), 4);
    assert_eq!(plain.len(), 5);

    let one = [
        "--set",
        "clusterExtension.enabled=true,clusterExtension.versions[0].name=v0",
        "--set",
        "clusterExtension.versions[0].spec.namespace=sys,clusterExtension.versions[0].spec.source.sourceType=Catalog",
        "--set",
        "clusterExtension.versions[0].spec.source.catalog.packageName=p",
    ];
    let other = ["--set", "clusterExtensions[0].spec.source.catalog.version=0.1.0"];
    let objects = chart(&[&one[..], &other[..]].concat()).unwrap();
    let [extension] = of_kind(&objects, "ClusterExtension")[..] else { panic!("{objects:?}") };
    assert_eq!(extension["metadata"]["name"], "v0");
    assert_eq!(
        extension["spec"]["source"]["catalog"],
        serde_json::json!({"packageName": "p", "version": "0.1.0"})
    );
    let whole = ["--set", "clusterExtensions[0].name=x,clusterExtensions[0].spec.namespace=sys"];
    assert_eq!(of_kind(&chart(&whole).unwrap(), "ClusterExtension").len(), 1);
    assert!(chart(&other).unwrap_err().contains("has no name"));
    let short = ["--set", "clusterCatalog.spec.source.image.ref=tytn/operator-catalog:1"];
    assert!(chart(&short).unwrap_err().contains("/clusterCatalog/spec/source/image/ref"));
}

#[test]
fn the_catalog_chart_serves_the_versions_that_are_asked_for() {
    let flags = [
        "--set",
        "customResourceDefinition.versions={v1alpha2},customResourceDefinition.keep=false",
        "--set",
        "serviceAccount.create=true",
    ];
    let objects = chart(&flags).unwrap();
    let [definition] = of_kind(&objects, "CustomResourceDefinition")[..] else { panic!("{objects:?}") };
    let served = |version: &Value| (version["name"].clone(), version["served"].clone());
    let versions: Vec<_> = definition["spec"]["versions"].as_array().unwrap().iter().map(served).collect();
    assert_eq!(versions, [("v1alpha1".into(), false.into()), ("v1alpha2".into(), true.into())]);
    assert_eq!(definition["metadata"]["annotations"], Value::Null);
    assert_eq!(of_kind(&objects, "ServiceAccount").len(), 1);
}

#[test]
fn a_file_of_authorities_without_one_is_refused_by_name() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("authorities");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("none.pem");
    std::fs::write(&file, "no certificate\n").unwrap();
    let file = file.to_str().unwrap();
    for line in ["image inspect --remote localhost:1/x:1", "chart pull oci://localhost:1/x"] {
        let run = Command::new(PODIUM).args(line.split(' ')).args(["--ca-file", file]).output().unwrap();
        let errors = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(1), "{line}: {errors}");
        let expected = format!("--ca-file {file}: no PEM certificate found");
        assert!(errors.contains(&expected), "{line}: {errors}");
    }
}
