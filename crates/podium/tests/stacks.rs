//! The stacks of this repository: their CRDs are current, their charts render what they promise, and one operator answers
//! for each example.

#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use podium_goyaml::{json, yaml};
use podium_project::watches::{Reader, Watches};
use serde_json::{Value, json as value};

const CHART: &str = "helm-charts/inference-stack";

fn stack() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../stacks/inference")
}

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(stack().join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn podium(args: &[&str]) -> Result<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_podium")).args(args).current_dir(stack()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

fn to_json(text: &[u8]) -> Value {
    let node = yaml::parse_exact(text, 0).unwrap();
    serde_json::from_slice(&json::to_string(&&node).unwrap()).unwrap()
}

/// Renders the chart with values, as the objects by kind and name.
fn render(release: &str, values: &Value) -> Result<Vec<Value>, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stacks");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{release}-{:?}.json", std::thread::current().id()));
    std::fs::write(&file, values.to_string()).unwrap();
    let text = podium(&["chart", "template", release, CHART, "-n", "ns", "-f", file.to_str().unwrap()])?;
    Ok(text.split("\n---\n").map(|document| to_json(document.as_bytes())).collect())
}

fn find<'o>(objects: &'o [Value], kind: &str, name: &str) -> &'o Value {
    let found = objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("no {kind} {name}"))
}

fn config(objects: &[Value], name: &str) -> Value {
    to_json(find(objects, "ConfigMap", name)["data"]["config.yaml"].as_str().unwrap().as_bytes())
}

#[test]
fn crds_are_what_the_command_in_their_first_line_makes() {
    for file in files("crds") {
        let text = std::fs::read_to_string(&file).unwrap();
        let (first, rest) = text.split_once('\n').unwrap();
        let args: Vec<&str> = first.strip_prefix("# podium ").unwrap().split(' ').collect();
        let made = podium(&args).unwrap();
        assert!(
            made == rest,
            "{} is not what the chart says: run `make crds` and commit the result",
            file.display()
        );
    }
}

#[test]
fn the_catalog_chart_installs_the_same_crds() {
    let names = |folder: &str| -> Vec<_> {
        files(folder).into_iter().map(|file| file.file_name().unwrap().to_owned()).collect()
    };
    assert_eq!(names("crds"), names("charts/catalog/definitions"), "run `make crds`");
    for (ours, theirs) in files("crds").iter().zip(files("charts/catalog/definitions")) {
        assert!(
            std::fs::read(ours).unwrap() == std::fs::read(&theirs).unwrap(),
            "{}: run `make crds` and commit the result",
            theirs.display()
        );
    }
}

#[test]
fn examples_render_and_exactly_one_operator_answers_for_each() {
    let read = |file: &str| -> Watches {
        let text = std::fs::read(stack().join(file)).unwrap();
        let chart = |path: &str| match stack().join(path).join("Chart.yaml").is_file() {
            true => Ok(()),
            false => Err("is not there".to_owned()),
        };
        Reader { file, environment: &|_| None, world: &(), chart: &chart }.read(&text).unwrap()
    };
    let operators = [read("watches.yaml"), read("watches-v0.yaml")];
    assert!(operators.iter().all(|operator| operator.unknown.is_empty()));
    for file in files("examples") {
        let example = to_json(&std::fs::read(&file).unwrap());
        let (group, _) = example["apiVersion"].as_str().unwrap().split_once('/').unwrap();
        let labels = example["metadata"]["labels"].as_object().into_iter().flatten();
        let labels = labels.map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect();
        // A resource is seen in every version of its CRD.
        let answering: usize = operators
            .iter()
            .flat_map(|operator| &operator.entries)
            .filter(|watch| watch.kind.group == group && example["kind"] == watch.kind.kind.as_str())
            .filter(|watch| watch.selector.matches(&labels))
            .count();
        assert_eq!(answering, 1, "{}", file.display());
        let name = example["metadata"]["name"].as_str().unwrap();
        render(name, &example["spec"]).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}

#[test]
fn names_labels_ports_and_configuration_are_those_of_the_contract() {
    let objects = render("demo", &value!({ "applications": { "empty": {} } })).unwrap();
    let kinds: Vec<&str> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ServiceAccount", "ConfigMap", "ConfigMap", "Service", "Deployment", "Deployment"]);
    let gateway = "demo-inference-stack-gateway";
    assert_eq!(
        config(&objects, gateway),
        value!({ "takeoff": { "readers_config": {}, "server_config": { "internal_port": 3005 } } })
    );
    assert_eq!(
        config(&objects, "demo-inference-stack-empty")["takeoff"],
        value!({
            "readers_config": { "empty": {
                "buffer_requests": true, "consumer_group": "primary", "device": "cpu",
                "internal_gateway_ip": gateway, "model_name": "TitanML/dummy_model",
            } },
            "server_config": { "internal_port": 3005 },
        })
    );
    let service = find(&objects, "Service", gateway);
    let ports: Vec<(u64, &str)> = service["spec"]["ports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|port| (port["port"].as_u64().unwrap(), port["targetPort"].as_str().unwrap()))
        .collect();
    assert_eq!(ports, [(80, "openai"), (3001, "management"), (3000, "inference"), (3005, "internal")]);
    let deployment = find(&objects, "Deployment", "demo-inference-stack-empty");
    let selector = value!({
        "app.kubernetes.io/component": "application-empty",
        "app.kubernetes.io/instance": "demo",
        "app.kubernetes.io/name": "inference-stack",
    });
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], selector);
    assert_eq!(deployment["spec"]["template"]["metadata"]["labels"], selector);
    assert_eq!(deployment["metadata"]["labels"]["helm.sh/chart"], "inference-stack-1.0.0");
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["image"], "tytn/takeoff-pro:0.22.0-rc20-gpu");
    let mounts: Vec<&str> = pod["containers"][0]["volumeMounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mount| mount["mountPath"].as_str().unwrap())
        .collect();
    assert_eq!(mounts, ["/code/config.yaml", "/dev/shm", "/code/models"]);
}

#[test]
fn an_application_is_merged_over_the_template() {
    let values = value!({
        "applicationTemplate": {
            "env": [{ "name": "A", "value": "template" }, { "name": "B", "value": "template" }],
            "readerConfig": { "device": "cuda", "maxBatchSize": 2_097_152 },
            "modelsVolume": { "name": "shared", "persistentVolumeClaim": { "claimName": "x" } },
            "volumes": [{ "name": "t", "emptyDir": {} }],
        },
        "applications": { "a": {
            "env": [{ "name": "B", "value": "" }, { "name": "POD_NAME", "value": "mine" }],
            "readerConfig": { "modelName": "m", "quantType": "on" },
            "modelsVolume": { "hostPath": { "path": "/m" } },
            "volumes": [{ "name": "o", "emptyDir": {} }],
        } },
    });
    let objects = render("demo", &values).unwrap();
    let reader = &config(&objects, "demo-inference-stack-a")["takeoff"]["readers_config"]["a"];
    assert_eq!(reader["device"], "cuda");
    assert_eq!(reader["max_batch_size"], 2_097_152);
    assert_eq!(reader["quant_type"], "on");
    let pod = &find(&objects, "Deployment", "demo-inference-stack-a")["spec"]["template"]["spec"];
    let env: Vec<String> = pod["containers"][0]["env"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| {
            format!("{}={}", variable["name"].as_str().unwrap(), variable["value"].as_str().unwrap_or("?"))
        })
        .collect();
    assert_eq!(
        env,
        ["B=", "POD_NAME=mine", "A=template", "TAKEOFF_ADD_READER_ID_SUFFIX=true", "TAKEOFF_HEADLESS=true"]
    );
    let volumes: Vec<&str> =
        pod["volumes"].as_array().unwrap().iter().map(|volume| volume["name"].as_str().unwrap()).collect();
    assert_eq!(volumes, ["config", "dshm", "models", "o"]);
    assert_eq!(pod["volumes"][2], value!({ "name": "models", "hostPath": { "path": "/m" } }));
}

#[test]
fn scaling_takes_the_place_of_replicas_and_asks_the_gateway() {
    let values = value!({ "applications": { "a": {
        "readerConfig": { "consumerGroup": "large" },
        "scaling": { "enabled": true, "metricTarget": { "value": 20 }, "spec": { "minReplicaCount": 0 } },
    } } });
    let objects = render("demo", &values).unwrap();
    assert_eq!(find(&objects, "Deployment", "demo-inference-stack-a")["spec"].get("replicas"), None);
    assert_eq!(
        find(&objects, "ScaledObject", "demo-inference-stack-a")["spec"],
        value!({
            "scaleTargetRef": { "name": "demo-inference-stack-a" },
            "pollingInterval": 60, "initialCooldownPeriod": 300, "cooldownPeriod": 300,
            "minReplicaCount": 0, "maxReplicaCount": 4,
            "triggers": [{ "type": "external-push", "metadata": {
                "scalerAddress": "demo-inference-stack-gateway.ns.svc.cluster.local:3005",
                "target_large": "20",
            } }],
        })
    );
}

#[test]
fn another_configuration_makes_other_pods_and_another_chart_version_does_not() {
    let pods = |values: &Value| {
        let objects = render("demo", values).unwrap();
        ["gateway", "a"].map(|part| {
            find(&objects, "Deployment", &format!("demo-inference-stack-{part}"))["spec"]["template"].clone()
        })
    };
    let plain = pods(&value!({ "applications": { "a": {} } }));
    let [gateway, reader] =
        pods(&value!({ "applications": { "a": { "readerConfig": { "device": "cuda" } } } }));
    assert_eq!(gateway, plain[0]);
    assert_ne!(reader["metadata"]["annotations"], plain[1]["metadata"]["annotations"]);
    assert!(!plain[1].to_string().contains("helm.sh/chart"));
}

#[test]
fn long_names_are_shortened_and_stay_apart() {
    let (one, two) = ("a".repeat(50), format!("{}b", "a".repeat(49)));
    let release = "a-release-whose-name-is-as-long-as-helm-allows-for-it";
    let objects = render(release, &value!({ "applications": { one: {}, two: {} } })).unwrap();
    let names: std::collections::BTreeSet<&str> = objects
        .iter()
        .filter(|object| object["kind"] == "Deployment")
        .map(|object| object["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 3);
    assert!(names.iter().all(|name| name.len() <= 63), "{names:?}");
    for object in &objects {
        for (label, text) in object["metadata"]["labels"].as_object().unwrap() {
            assert!(text.as_str().unwrap().len() <= 63, "{label}: {text}");
        }
    }
}

#[test]
fn mistakes_in_values_are_refused_by_name() {
    for (values, says) in [
        (
            value!({ "applications": { "a": { "readerConfig": { "modelNmae": "x" } } } }),
            "additional properties 'modelNmae' not allowed",
        ),
        (value!({ "applications": { "A": {} } }), "does not match pattern"),
        (value!({ "gateway": { "replicaCount": "2" } }), "got string, want integer"),
    ] {
        let error = render("demo", &values).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
}
