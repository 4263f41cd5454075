//! The path of an author: a template with one version more, checked, compared, published; and what is refused on it.

#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("catalogs").join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> &Self {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Runs `podium catalog`; gives exit status, output and errors.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_podium"))
            .arg("catalog")
            .args(args)
            .current_dir(&self.0)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    fn fine(&self, args: &[&str]) -> String {
        let (status, out, errors) = self.run(args);
        assert_eq!(status, 0, "{args:?}: {errors}");
        out
    }

    fn refused(&self, args: &[&str], words: &str) {
        let (status, _, errors) = self.run(args);
        assert_eq!(status, 1, "{args:?}: {errors}");
        assert!(errors.contains(words), "{args:?}: {errors}");
    }
}

fn bundle(version: &str) -> String {
    format!(
        "---\nschema: olm.bundle\nname: demo.v{version}\npackage: demo\nimage: docker.io/tytn/operator-bundle:{version}\n\
         properties:\n- type: olm.package\n  value: {{packageName: demo, version: {version}}}\n- type: olm.gvk\n  value: \
         {{group: models.example.com, kind: InferenceStack, version: v1alpha1}}\n"
    )
}

const TEMPLATE: &str = "# What we support.\nSchema: olm.semver\nGenerateMajorChannels: true\nStable:\n  Bundles:\n  - Image: \
                        docker.io/tytn/operator-bundle:0.1.0 # the first\nFast:\n  Bundles:\n  - Image: \
                        docker.io/tytn/operator-bundle:0.1.0\n";

fn author(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("operator_catalog.yaml", TEMPLATE);
    folder.file("bundles/all.yaml", &format!("{}{}{}", bundle("0.1.0"), bundle("0.2.0"), bundle("1.0.0")));
    folder
}

#[test]
fn a_version_goes_from_the_template_to_what_would_be_installed() {
    let folder = author("flow");
    folder.refused(
        &["add", "operator_catalog.yaml", "tytn/operator-bundle:0.2.0"],
        "write docker.io/tytn/operator-bundle:0.2.0",
    );
    folder.fine(&[
        "add",
        "operator_catalog.yaml",
        "docker.io/tytn/operator-bundle:0.2.0",
        "--to",
        "stable,fast",
    ]);
    folder.fine(&["add", "operator_catalog.yaml", "docker.io/tytn/operator-bundle:1.0.0"]);
    let template = std::fs::read_to_string(folder.0.join("operator_catalog.yaml")).unwrap();
    assert!(
        template.contains("0.1.0 # the first\n  - Image: docker.io/tytn/operator-bundle:0.2.0\nFast:"),
        "{template}"
    );
    let made = folder.fine(&["template", "operator_catalog.yaml", "--bundles", "bundles", "-o", "yaml"]);
    folder.file("configs/catalog.yaml", &made);
    folder.fine(&["validate", "configs"]);
    assert!(made.contains("defaultChannel: stable-v0"), "{made}");
    let old = folder.fine(&["template", "operator_catalog.yaml", "--bundles", "bundles", "--compat", "1.51"]);
    assert!(old.contains("\"skips\": [\n                \"demo.v0.1.0\""), "{old}");

    let chosen = folder.fine(&[
        "resolve",
        "configs",
        "--package",
        "demo",
        "--channel",
        "fast-v0",
        "--installed",
        "0.1.0",
    ]);
    assert!(chosen.starts_with("demo.v0.2.0 "), "{chosen}");
    assert!(chosen.contains("it is in none of the channels [fast-v0]"), "{chosen}");
    folder.refused(
        &["resolve", "configs", "-p", "demo", "--version", "3.x"],
        "no bundles found for package \"demo\" matching version \"3.x\"",
    );
    let table = folder.fine(&["list", "channels", "configs"]);
    assert!(table.contains("demo     stable-v0  demo.v0.2.0"), "{table}");
    assert!(folder.fine(&["graph", "configs"]).contains("└─ replaces demo.v0.1.0"));
    assert!(folder.fine(&["graph", "configs", "-o", "mermaid"]).starts_with("graph LR\n"));
}

#[test]
fn a_published_version_stays() {
    let folder = author("published");
    let build = ["build", "operator_catalog.yaml", "oci:images:catalog", "--bundles", "bundles"];
    let first = folder.fine(&build);
    assert!(first.starts_with("oci:images:catalog has 1 version of demo\ndigest: sha256:"), "{first}");
    assert_eq!(folder.fine(&build), first, "the same input is the same image");
    // What is in the image is the catalog.
    assert!(
        folder
            .fine(&["list", "bundles", "oci:images:catalog"])
            .contains("docker.io/tytn/operator-bundle:0.1.0")
    );

    let moved = TEMPLATE.replace("0.1.0", "0.2.0");
    folder.file("operator_catalog.yaml", &moved);
    folder.refused(&build, "demo.v0.1.0 is in oci:images:catalog and gone or another one now");
    let mut told = build.to_vec();
    told.push("--allow-removal");
    folder.fine(&told);
    let changes = folder.fine(&["diff", "oci:images:catalog", "bundles/all.yaml"]);
    assert!(changes.contains("+ bundle demo.v0.1.0"), "{changes}");
}

#[test]
fn an_operator_needs_its_crd() {
    let folder = author("chart");
    let crd = |version: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: \
             inferencestacks.models.example.com\nspec:\n  group: models.example.com\n  names: {{kind: InferenceStack, plural: \
             inferencestacks}}\n  scope: Namespaced\n  versions:\n  - name: {version}\n"
        )
    };
    folder.file("chart/Chart.yaml", "apiVersion: v2\nname: catalog\nversion: 1.0.0\n");
    folder.file("chart/templates/crd.yaml", &crd("v1beta1"));
    let build =
        ["build", "operator_catalog.yaml", "oci:images:c", "--bundles", "bundles", "--chart", "chart"];
    folder.refused(&build, "demo.v0.1.0 of demo: InferenceStack in models.example.com/v1alpha1");
    folder.file("chart/templates/crd.yaml", &crd("v1alpha1"));
    folder.fine(&build);
}

#[test]
fn what_is_wrong_has_a_place() {
    let folder = Folder::new("wrong");
    folder.file("c/a.yaml", "---\nschema: olm.package\nname: demo\ndefaultChannel: stable\n");
    folder.file("c/b.json", "{\"schema\": \"olm.channel\", \"package\": \"demo\", \"name\": \"stable\",\n \"entries\": [\n  {\"name\": \"x\"},\n  {\"name\": \"x\"}]}");
    folder.refused(
        &["validate", "c"],
        "c/b.json:4: invalid package \"demo\", channel \"stable\": duplicate entry \"x\"",
    );
    let (status, out, _) = folder.run(&["validate", "c", "-o", "json"]);
    assert_eq!(status, 1);
    assert!(out.contains("\"line\": 4"), "{out}");
    folder.file("c/b.json", "{\"schema\": \"olm.channel\" \"x\"}");
    folder.refused(
        &["validate", "c"],
        "c/b.json:1: json: offset 26: invalid character '\"' after object key:value pair",
    );
    folder.refused(&["validate", "nowhere"], "is not a directory");
    folder.refused(&["render", "c", "-o", "toml"], "invalid --output value \"toml\", expected (json|yaml)");
    folder.refused(&["template", "c/a.yaml"], "unknown template schema: olm.package");
}
