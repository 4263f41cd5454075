//! The stacks of this repository: both helms render them as podium does, and an API server takes their CRDs, their
//! examples and what they render, and refuses mistakes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

use podium_deploy::object::parse_manifest;
use podium_goyaml::{json, yaml};
use podium_project::crd::{Names, Options, crd};
use podium_rig::cluster::{Cluster, run};
use podium_rig::request::Dialect;
use podium_rig::tools;
use serde_json::{Value, json as value};

const CHART: &str = "helm-charts/inference-stack";

fn stack() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../stacks/inference")
}

/// Objects of YAML files, by the names of the files.
fn objects(folder: &str) -> Vec<(String, Value)> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(stack().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: PathBuf| {
        let node = yaml::parse_exact(&std::fs::read(&path).unwrap(), 0).unwrap();
        let object = serde_json::from_slice(&json::to_string(&&node).unwrap()).unwrap();
        (path.file_stem().unwrap().to_string_lossy().into_owned(), object)
    };
    files.into_iter().map(read).collect()
}

/// Values that are hard on a chart, beside those of the examples.
fn hard() -> Vec<(&'static str, Value)> {
    let long = "a-name-of-fifty-characters-which-is-the-longest-one";
    let long = long.get(..50).unwrap().trim_end_matches('-');
    vec![
        (
            "a-release-with-a-name-of-53-characters-which-is-longest",
            value!({ "applications": { long: {}, "b": {} } }),
        ),
        ("inference-stack", value!({ "nameOverride": "x", "serviceAccount": { "create": false } })),
        (
            "odd",
            value!({
                "gateway": {
                    "config": { "internalPort": 4000, "maxPromptStringBytes": 123_456_789, "reservedConsumers": "on", "newOption": "1e3", "ratio": 0.25 },
                    "env": [{ "name": "TAKEOFF_ADD_READER_ID_SUFFIX", "value": "" }],
                    "ingress": { "enabled": true },
                    "service": { "type": "NodePort", "port": 8080, "annotations": { "a": "b" } },
                    "volumes": [{ "name": "v", "emptyDir": {} }],
                    "volumeMounts": [{ "name": "v", "mountPath": "/v" }],
                },
                "applicationTemplate": { "env": [{ "name": "A", "value": "template" }, { "name": "B", "value": "template" }], "volumes": [{ "name": "t", "emptyDir": {} }] },
                "applications": {
                    "a": { "env": [{ "name": "B", "value": "own" }, { "name": "TAKEOFF_HEADLESS", "value": "false" }], "modelsVolume": { "hostPath": { "path": "/m" } }, "replicaCount": 0 },
                    "b": { "volumes": [{ "name": "o", "emptyDir": {} }], "readerConfig": { "internalGatewayIp": "10.0.0.1", "cudaVisibleDevices": "0,1", "loras": [{ "a": 1 }] } },
                    "c": { "scaling": { "enabled": true, "spec": { "advanced": { "restoreToOriginalReplicaCount": true }, "idleReplicaCount": 0 } }, "engine": "vllm" },
                },
            }),
        ),
    ]
}

/// Every set of values, by the name of its release.
fn cases() -> Vec<(String, Value)> {
    let examples = objects("examples").into_iter().map(|(_, example)| {
        (example["metadata"]["name"].as_str().unwrap().to_owned(), example["spec"].clone())
    });
    examples
        .chain(
            hard()
                .into_iter()
                .map(|(name, values)| (name.get(..name.len().min(53)).unwrap().to_owned(), values)),
        )
        .collect()
}

fn rendered(program: &mut Command, release: &str, values: &Path) -> String {
    program.current_dir(stack()).args(["template", release, CHART, "-n", "stacks", "-f"]).arg(values);
    run(program).unwrap()
}

fn by_podium(release: &str, values: &Path, major: &str) -> String {
    let mut podium = tools::quiet_command(&tools::podium().unwrap());
    podium.args(["chart"]);
    podium
        .current_dir(stack())
        .args(["template", release, CHART, "-n", "stacks", "--helm-version", major, "-f"])
        .arg(values);
    run(&mut podium).unwrap()
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn both_helms_render_the_chart_as_podium_does() {
    let folder = std::env::temp_dir().join(format!("podium-stacks-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (release, values) in cases() {
        let file = folder.join(format!("{release}.json"));
        std::fs::write(&file, values.to_string()).unwrap();
        for dialect in [Dialect::Helm3, Dialect::Helm4] {
            let theirs = rendered(&mut tools::quiet_command(&tools::helm(dialect).unwrap()), &release, &file);
            assert_eq!(by_podium(&release, &file, dialect.major()), theirs, "{release} {dialect:?}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

struct Server {
    cluster: &'static Cluster,
    folder: PathBuf,
}

impl Server {
    fn new() -> Self {
        let cluster = Cluster::shared().unwrap_or_else(|error| panic!("{error}"));
        cluster.namespace("stacks").unwrap();
        let folder = cluster.folder().join("stacks");
        std::fs::create_dir_all(&folder).unwrap();
        let server = Self { cluster, folder };
        for (_, crd) in objects("crds") {
            server.establish(&crd);
        }
        // What the chart makes beside the kinds of every cluster.
        for (group, kind, plural, version) in [
            ("keda.sh", "ScaledObject", "scaledobjects", "v1alpha1"),
            ("monitoring.coreos.com", "ServiceMonitor", "servicemonitors", "v1"),
        ] {
            let names = Names {
                group: group.to_owned(),
                kind: kind.to_owned(),
                plural: plural.to_owned(),
                versions: vec![version.to_owned()],
                ..Names::default()
            };
            server.establish(&crd(&names, &value!({}), None, Options::default()).unwrap().crd);
        }
        server
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn create(&self, object: &Value) -> Result<Value, String> {
        let strict = "&fieldValidation=Strict";
        self.cluster.admin().create_with("stacks", object, strict).map_err(|error| error.to_string())
    }

    fn establish(&self, crd: &Value) {
        let name = crd["metadata"]["name"].as_str().unwrap();
        self.create(crd).unwrap_or_else(|error| panic!("{name}: {error}"));
        self.cluster.established(name).unwrap();
        let found = self.cluster.admin().find("crd", "", name).unwrap().unwrap();
        let conditions = found["status"]["conditions"].to_string();
        assert!(!conditions.contains("NonStructural"), "{name}: {conditions}");
    }
}

#[test]
fn a_server_takes_the_examples_and_what_they_render_and_refuses_mistakes() {
    let server = Server::new();
    for (file, example) in objects("examples") {
        server.create(&example).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    // Both versions show the same resource.
    let admin = server.cluster.admin();
    let path = "/apis/models.takeoff.co/v1alpha2/namespaces/stacks/inferencestacks";
    let second = admin.raw(&format!("{path}/my-inference-stack")).unwrap();
    let second: Value = serde_json::from_str(&second).unwrap();
    assert!(
        second["spec"].to_string().contains("\"modelName\":\"unsloth/Llama-3.2-1B-Instruct\""),
        "{second}"
    );
    let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let columns = admin.run(async |client| client.get_path(path, table).await).unwrap();
    let columns = columns["columnDefinitions"].as_array().unwrap();
    let columns: Vec<_> = columns.iter().filter(|c| c["priority"] == 0).map(|c| c["name"].clone()).collect();
    assert_eq!(columns, ["Name", "Deployed", "Ready", "Revision", "Age"]);

    let reader = |reader: Value| value!({ "applications": { "a": { "readerConfig": reader } } });
    for (spec, says) in [
        (
            reader(value!({ "modelNmae": "x" })),
            "unknown field \"spec.applications.a.readerConfig.modelNmae\"",
        ),
        (reader(value!({ "modelName": 3 })), "must be of type string"),
        (reader(value!({ "device": "gpu" })), "should match"),
        (reader(value!({ "maxBatchSize": 0 })), "should be greater than or equal to 1"),
        (value!({ "gateway": { "replicaCount": "2" } }), "must be of type integer"),
        (value!({ "gatway": {} }), "unknown field \"spec.gatway\""),
        (value!({ "gateway": { "env": [{ "value": "x" }] } }), "Required value"),
        (value!({ "gateway": { "service": { "type": "External" } } }), "Unsupported value"),
        (value!({ "applications": { "Bad_Name": {} } }), "the name of an application has small letters"),
        (
            value!({ "applicationTemplate": { "scaling": { "metricTarget": { "name": "other" } } } }),
            "Unsupported value",
        ),
        (value!({ "imagePullSecrets": ["regcred"] }), "must be of type object"),
    ] {
        for (version, kind) in [
            ("models.takeoff.co/v1alpha1", "InferenceStack"),
            ("models.titanml.co/v1alpha1", "ModelOrchestra"),
        ] {
            let resource = value!({ "apiVersion": version, "kind": kind, "metadata": { "name": "wrong" }, "spec": spec });
            match server.create(&resource) {
                Ok(_) => panic!("{kind} {spec} is taken"),
                Err(error) => assert!(error.contains(says), "{spec}: {error}"),
            }
        }
    }

    for (release, values) in cases() {
        let values = server.write("values.json", &values.to_string());
        for object in parse_manifest(&by_podium(&release, &values, "4")).unwrap() {
            let query = "&fieldValidation=Strict&dryRun=All";
            let answer = server.cluster.admin().create_with("stacks", &object.body, query);
            answer.unwrap_or_else(|error| panic!("{release}: {error}"));
        }
    }
}
