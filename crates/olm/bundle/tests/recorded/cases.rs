//! Generates bundles from a seed, with mutations.

use std::collections::BTreeMap;

use podium_bundle::render::{CertificateProvider, Options};
use podium_goyaml::{Node, Pos, Value as YamlValue, emit};
use serde_json::{Value, json};

/// A deterministic random number generator (SplitMix64).
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        // Mixes the seed, so that consecutive seeds do not give overlapping sequences.
        let mut random = Self(seed ^ 0x5851_f42d_4c95_7f2d);
        random.0 = random.next().rotate_left(17) ^ seed;
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// A generated bundle with the parameters to render it.
pub struct Case {
    /// Bundle files.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Image reference for opm.
    pub image: String,
    /// Whether opm migrates bundle objects.
    pub migrate: bool,
    /// Render options.
    pub options: Options,
    /// Names of the applied mutations.
    pub mutations: Vec<&'static str>,
}

struct BundleDraft {
    csv: Value,
    csv_name: String,
    crds: Vec<Value>,
    others: Vec<Value>,
    annotations: Value,
    properties: Option<Value>,
    dependencies: Option<Value>,
    extra_files: Vec<(String, Vec<u8>)>,
    options: Options,
    image: String,
}

/// Generates the case of a seed.
pub fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let mut draft = base_draft(&mut random);
    let mut mutations = Vec::new();
    let times = *random.pick(&[0, 1, 1, 1, 1, 2, 3]);
    for _ in 0..times {
        let (name, mutate) = random.pick(MUTATIONS);
        mutate(&mut draft, &mut random);
        mutations.push(*name);
    }
    let migrate = random.chance(40);
    let files = encode_files(&draft, &mut random);
    Case { files, image: draft.image, migrate, options: draft.options, mutations }
}

fn base_draft(random: &mut Random) -> BundleDraft {
    let package = (*random.pick(&["web", "model-orchestra", "x.y"])).to_owned();
    let version = *random.pick(&["1.2.3", "0.1.0", "2.0.0-rc.1", "1.0.0+build.7", "v1.4", "10.20.30"]);
    let csv_name = format!("{package}.v{}", version.trim_start_matches('v'));
    let kinds = random.below(3);
    let crds: Vec<Value> = (0..kinds).map(|at| crd(at, random)).collect();
    let owned: Vec<Value> = crds
        .iter()
        .map(|crd| {
            let version = crd["spec"]["versions"][0]["name"].clone();
            let mut owned = json!({"name": crd["metadata"]["name"], "version": version, "kind": crd["spec"]["names"]["kind"],
                "displayName": "A <kind> & more", "description": "is what it is"});
            if random.chance(30) {
                owned["specDescriptors"] = json!([{"path": "size", "displayName": "Size",
                    "x-descriptors": ["urn:alm:descriptor:com.tectonic.ui:podCount"]}]);
            }
            if random.chance(20) {
                owned["resources"] = json!([{"kind": "Pod", "name": "", "version": "v1"}]);
            }
            owned
        })
        .collect();
    let mut deployments = vec![deployment("manager", random)];
    if random.chance(20) {
        deployments.push(deployment("second.part", random));
    }
    let mut strategy = json!({"deployments": deployments});
    for (key, percent) in [("permissions", 50), ("clusterPermissions", 80)] {
        if random.chance(percent) {
            let all: Vec<Value> = (0..=random.below(2)).map(|_| permission(random)).collect();
            strategy[key] = Value::Array(all);
        }
    }
    let mut modes: Vec<Value> = Vec::new();
    let only = random.chance(60);
    for mode in ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"] {
        let supported = mode == "AllNamespaces" || !only && random.chance(40);
        modes.push(json!({"type": mode, "supported": supported}));
    }
    let mut csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": csv_name, "annotations": {"capabilities": "Basic Install",
            "alm-examples": "[{\"a\": \"<b> & c\"}]"}},
        "spec": {"displayName": "Web & <more>", "version": version, "description": "Runs\nwebs.\n",
            "installModes": modes, "install": {"strategy": "deployment", "spec": strategy},
            "customresourcedefinitions": {"owned": owned}},
    });
    let spec = csv["spec"].as_object_mut().unwrap();
    for (key, value, percent) in [
        ("keywords", json!(["web", "ai"]), 40),
        ("links", json!([{"name": "Home", "url": "https://example.com/?a=1&b=2"}]), 40),
        ("maintainers", json!([{"name": "A", "email": "a@example.com"}]), 40),
        ("provider", json!({"name": "Example", "url": "https://example.com"}), 40),
        ("maturity", json!("alpha"), 40),
        ("minKubeVersion", json!("1.30.0"), 30),
        ("icon", json!([{"base64data": "aGk=", "mediatype": "image/png"}]), 30),
        ("replaces", json!("web.v0.0.9"), 30),
        ("skips", json!(["web.v0.0.8"]), 20),
        ("nativeAPIs", json!([{"group": "", "version": "v1", "kind": "Pod"}]), 20),
        ("release", json!("1.alpha"), 10),
        ("labels", json!({"a": "b"}), 20),
        (
            "relatedImages",
            json!([{"name": "b", "image": "example.com/b:1"}, {"name": "a", "image": "example.com/a:1"}]),
            40,
        ),
    ] {
        if random.chance(percent) {
            spec.insert(key.to_owned(), value);
        }
    }
    if random.chance(40) {
        csv["metadata"]["annotations"]["olm.properties"] =
            json!("[{\"type\": \"custom\", \"value\": {\"z\": 1,  \"a\": [ \"<x>\" , 1.50 ]}}]");
    }
    if random.chance(20) {
        csv["metadata"]["labels"] = json!({"arch": "amd64"});
    }
    let certificate_provider =
        *random.pick(&[None, Some(CertificateProvider::CertManager), Some(CertificateProvider::OpenShift)]);
    if certificate_provider.is_some() && random.chance(60) {
        let count = 1 + random.below(3);
        let hooks: Vec<Value> = (0..count).map(|at| webhook(at, random)).collect();
        csv["spec"]["webhookdefinitions"] = Value::Array(hooks);
    }
    let others: Vec<Value> = (0..random.below(4)).map(|at| other(at, random)).collect();
    let mut annotations = json!({"operators.operatorframework.io.bundle.package.v1": package,
        "operators.operatorframework.io.bundle.channels.v1": "stable,fast",
        "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1"});
    if random.chance(50) {
        annotations["operators.operatorframework.io.bundle.channel.default.v1"] = json!("stable");
    }
    let properties = random.chance(30).then(|| {
        json!({"properties": [{"type": "olm.maxOpenShiftVersion", "value": "4.20"}, {"type": "q", "value": {"b": 1.5, "a": "<&>"}},
            {"type": "olm.gvk", "value": {"group": "more.example.com", "kind": "More", "version": "v1"}}]})
    });
    let dependencies = random.chance(30).then(|| {
        json!({"dependencies": [{"type": "olm.package", "value": {"packageName": "other", "version": ">=1.0.0 <2.0.0"}},
            {"type": "olm.gvk", "value": {"group": "need.example.com", "kind": "Need", "version": "v1"}},
            {"type": "olm.constraint", "value": {"failureMessage": "<no>", "cel": {"rule": "true"}}}]})
    });
    let single_own_namespace = random.chance(40);
    // Target namespaces are only valid with the feature gate.
    let target_namespaces = if single_own_namespace && random.chance(20) {
        vec![(*random.pick(&["operators", "team-a"])).to_owned()]
    } else {
        Vec::new()
    };
    let deployment_config = if random.chance(15) { deployment_config(random) } else { Value::Null };
    BundleDraft {
        csv,
        csv_name: "web.clusterserviceversion.yaml".to_owned(),
        crds,
        others,
        annotations: json!({"annotations": annotations}),
        properties,
        dependencies,
        extra_files: Vec::new(),
        options: Options {
            install_namespace: "operators".to_owned(),
            target_namespaces,
            certificate_provider,
            single_own_namespace,
            deployment_config,
        },
        image: (*random.pick(&["", "example.com/web-bundle:1", "example.com/a:1"])).to_owned(),
    }
}

fn crd(at: usize, random: &mut Random) -> Value {
    let plural = format!("webs{at}");
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 1.5e3, "default": 3},
        "any": {"x-kubernetes-preserve-unknown-fields": true, "type": "object"},
        "extra": {"additionalProperties": {"type": "string"}, "type": "object"},
        "items": {"type": "array", "items": {"type": "string", "enum": ["a", "b<"]}}}}}});
    let mut versions =
        vec![json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}})];
    if random.chance(30) {
        versions.push(json!({"name": "v1alpha1", "served": true, "storage": false, "deprecated": true,
            "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}));
    }
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com"), "creationTimestamp": null},
        "spec": {"group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": {"kind": format!("Web{at}"), "plural": plural, "listKind": format!("Web{at}List"), "singular": format!("web{at}")}},
    });
    if random.chance(30) {
        crd["status"] =
            json!({"acceptedNames": {"kind": "", "plural": ""}, "conditions": [], "storedVersions": []});
    }
    crd
}

fn deployment(name: &str, random: &mut Random) -> Value {
    let mut container = json!({"name": "manager", "image": random.pick(&["example.com/a:1", "example.com/web:1"]),
        "args": ["--leader-elect"], "resources": {"limits": {"cpu": "0.5", "memory": "128Mi"}, "requests": {"cpu": 1}}});
    if random.chance(40) {
        container["env"] = json!([{"name": "A", "value": "b"}, {"name": "NS", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}]);
    }
    if random.chance(40) {
        container["ports"] = json!([{"containerPort": 9443, "name": "webhook", "protocol": "TCP"}]);
        container["livenessProbe"] =
            json!({"httpGet": {"path": "/healthz", "port": 8081}, "periodSeconds": 20});
    }
    let mut pod = json!({"containers": [container], "serviceAccountName": "manager", "terminationGracePeriodSeconds": 10});
    if random.chance(30) {
        pod["volumes"] = json!([{"name": "webhook-cert", "emptyDir": {}}, {"name": "cert", "secret": {"defaultMode": 420, "secretName": "x"}},
            {"name": "data", "emptyDir": {"sizeLimit": "1.5Gi"}}]);
        pod["containers"][0]["volumeMounts"] = json!([{"name": "cert", "mountPath": "/tmp/k8s-webhook-server/serving-certs", "readOnly": true},
            {"name": "data", "mountPath": "/data"}]);
    }
    if random.chance(20) {
        pod["initContainers"] = json!([{"name": "init", "image": "example.com/init:1"}]);
    }
    if random.chance(20) {
        pod["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]}}});
        pod["tolerations"] = json!([{"key": "a", "operator": "Exists"}]);
    }
    let mut template = json!({"metadata": {"labels": {"app": name}}, "spec": pod});
    if random.chance(50) {
        template["metadata"]["annotations"] =
            json!({"kubectl.kubernetes.io/default-container": "manager", "capabilities": "mine"});
    }
    let mut out = json!({"name": name, "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "strategy": {}, "template": template}});
    if random.chance(40) {
        out["label"] = json!({"control-plane": "manager"});
    }
    out
}

fn permission(random: &mut Random) -> Value {
    let mut rules = vec![json!({"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["*"]})];
    if random.chance(50) {
        rules.push(json!({"apiGroups": ["example.com"], "resources": ["webs<0>"], "verbs": ["get", "list"], "resourceNames": ["a&b"]}));
    }
    if random.chance(20) {
        rules.push(json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}));
    }
    let account = *random.pick(&["manager", "manager", "", "other-account-with-a-rather-long-name"]);
    json!({"serviceAccountName": account, "rules": rules})
}

fn webhook(at: usize, random: &mut Random) -> Value {
    let ty = *random.pick(&["ValidatingAdmissionWebhook", "MutatingAdmissionWebhook", "ConversionWebhook"]);
    let mut webhook_value = json!({"generateName": format!("hook{at}.example.com"), "type": ty, "deploymentName": "manager",
        "admissionReviewVersions": ["v1"], "sideEffects": "None"});
    for (key, value, percent) in [
        ("containerPort", json!(9443), 60),
        ("containerPort", json!(443), 30),
        ("targetPort", json!(9443), 40),
        ("targetPort", json!("webhook"), 20),
        ("failurePolicy", json!("Fail"), 50),
        ("matchPolicy", json!("Equivalent"), 20),
        ("timeoutSeconds", json!(10), 30),
        ("webhookPath", json!("/mutate"), 60),
        ("reinvocationPolicy", json!("Never"), 20),
        ("objectSelector", json!({"matchLabels": {"a": "b"}}), 20),
        (
            "rules",
            json!([{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["webs0"], "scope": "*"}]),
            70,
        ),
    ] {
        if random.chance(percent) {
            webhook_value[key] = value;
        }
    }
    if ty == "ConversionWebhook" {
        webhook_value["conversionCRDs"] = json!([format!("webs{at}.example.com")]);
    }
    webhook_value
}

fn other(at: usize, random: &mut Random) -> Value {
    let (api_version, kind) = random.pick(&[
        ("v1", "ConfigMap"),
        ("v1", "Service"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("rbac.authorization.k8s.io/v1", "Role"),
        ("monitoring.coreos.com/v1", "ServiceMonitor"),
        ("policy/v1", "PodDisruptionBudget"),
        ("scheduling.k8s.io/v1", "PriorityClass"),
        ("autoscaling.k8s.io/v1", "VerticalPodAutoscaler"),
        ("console.openshift.io/v1", "ConsoleLink"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
    ]);
    let mut object =
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": format!("other-{at}")}});
    if random.chance(30) {
        object["metadata"]["namespace"] = json!("elsewhere");
    }
    if random.chance(50) {
        object["data"] = json!({"a": "<b>&", "n": "1"});
    }
    if random.chance(30) {
        object["spec"] = json!({"value": 1.5, "large": 1e21, "small": 1e-7, "whole": 9_007_199_254_740_993_i64, "yes": true, "none": null});
    }
    object
}

fn deployment_config(random: &mut Random) -> Value {
    let all = [
        ("env", json!([{"name": "A", "value": "changed"}, {"name": "B", "value": "new"}])),
        ("envFrom", json!([{"configMapRef": {"name": "x"}}])),
        ("nodeSelector", json!({"a": "b"})),
        ("resources", json!({"limits": {"cpu": "2"}})),
        ("tolerations", json!([{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}])),
        ("volumes", json!([{"name": "data", "emptyDir": {}}, {"name": "new", "emptyDir": {}}])),
        (
            "volumeMounts",
            json!([{"name": "data", "mountPath": "/other"}, {"name": "new", "mountPath": "/new"}]),
        ),
        ("annotations", json!({"capabilities": "no", "new": "yes"})),
        ("affinity", json!({})),
        ("affinity", json!({"nodeAffinity": {}})),
        (
            "affinity",
            json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}}),
        ),
    ];
    let mut out = json!({});
    for _ in 0..=random.below(4) {
        let (key, value) = random.pick(&all);
        out[*key] = value.clone();
    }
    out
}

type Mutation = fn(&mut BundleDraft, &mut Random);

/// Mutations that make a bundle invalid or unusual.
const MUTATIONS: &[(&str, Mutation)] = &[
    ("no package name", |d, _| {
        d.annotations["annotations"]["operators.operatorframework.io.bundle.package.v1"] = json!("")
    }),
    ("no annotations", |d, _| d.annotations = Value::Null),
    ("annotations are a list", |d, _| d.annotations = json!({"annotations": []})),
    ("package is a number", |d, _| {
        d.annotations["annotations"]["operators.operatorframework.io.bundle.package.v1"] = json!(5)
    }),
    ("annotations are invalid YAML", |d, _| {
        d.extra_files.push(("metadata/annotations.yaml".to_owned(), b"a: [".to_vec()))
    }),
    ("empty manifests with hidden file", |d, _| {
        (d.crds, d.others, d.csv) = (Vec::new(), Vec::new(), Value::Null);
    }),
    ("no manifests", |d, _| {
        (d.crds, d.others, d.csv) = (Vec::new(), Vec::new(), Value::Null);
        d.csv_name.clear();
    }),
    ("no csv", |d, _| d.csv = Value::Null),
    ("two csvs", |d, r| {
        let mut second = d.csv.clone();
        second["metadata"]["name"] = json!("second");
        let name = r.pick(&["a.yaml", "z.yaml"]);
        d.extra_files.push((format!("manifests/{name}"), second.to_string().into_bytes()));
    }),
    ("subdirectory in manifests", |d, _| {
        d.extra_files.push(("manifests/deeper/a.yaml".to_owned(), b"kind: ConfigMap\n".to_vec()))
    }),
    ("invalid YAML file", |d, _| {
        d.extra_files.push(("manifests/bad.yaml".to_owned(), b"a: b: c\n- x".to_vec()))
    }),
    ("a file without a kind", |d, _| {
        d.extra_files.push(("manifests/kindless.yaml".to_owned(), b"a: 1\n".to_vec()))
    }),
    ("an empty file", |d, _| d.extra_files.push(("manifests/empty.yaml".to_owned(), Vec::new()))),
    ("only a comment", |d, _| {
        d.extra_files.push(("manifests/comment.yaml".to_owned(), b"# nothing\n".to_vec()))
    }),
    ("a hidden file", |d, _| {
        d.extra_files.push((
            "manifests/.hidden.yaml".to_owned(),
            b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: h}\n".to_vec(),
        ))
    }),
    ("several documents", |d, _| {
        d.extra_files.push(("manifests/many.yaml".to_owned(), b"---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: one}\n---\nkind: Secret\napiVersion: v1\nmetadata: {name: two}\n---\n# end\n".to_vec()))
    }),
    ("a list", |d, r| {
        let inner = "- kind: List\n  apiVersion: v1\n  items: [{kind: Secret, apiVersion: v1, metadata: {name: two}}]\n";
        let inner =
            if r.chance(30) { inner } else { "- {kind: Secret, apiVersion: v1, metadata: {name: two}}\n" };
        let text = format!("kind: ConfigMapList\napiVersion: v1\nitems:\n- metadata: {{name: one}}\n{inner}");
        d.extra_files.push(("manifests/list.yaml".to_owned(), text.into_bytes()));
    }),
    ("JSON stream", |d, _| {
        d.extra_files.push(("manifests/stream.json".to_owned(), b"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"one\"}}\n{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"two\"}}\n".to_vec()))
    }),
    ("YAML 1.1 values", |d, _| {
        d.extra_files.push(("manifests/old.yaml".to_owned(), b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: old}\ndata: {a: yes, b: 017, c: 0x1F, d: 1_000, e: 12:30:45, f: ~, on: off}\n".to_vec()))
    }),
    ("anchors and merges", |d, _| {
        d.extra_files.push((
            "manifests/anchor.yaml".to_owned(),
            b"kind: ConfigMap\napiVersion: v1\nmetadata: &m {name: anchored}\nmore: {<<: *m, x: 1}\n"
                .to_vec(),
        ))
    }),
    ("no spec", |d, _| {
        if let Some(csv) = d.csv.as_object_mut() {
            csv.remove("spec");
        }
    }),
    ("spec is null", |d, _| set(&mut d.csv, "/spec", Value::Null)),
    ("spec is a list", |d, _| set(&mut d.csv, "/spec", json!([]))),
    ("version is a number", |d, _| set(&mut d.csv, "/spec/version", json!(1.5))),
    ("invalid version", |d, r| {
        set(&mut d.csv, "/spec/version", json!(r.pick(&["", "one", "1.2.3.4", "01.2.3", "1.2-rc"])))
    }),
    ("no version", |d, _| remove(&mut d.csv, "/spec", "version")),
    ("unusual release", |d, r| {
        set(
            &mut d.csv,
            "/spec/release",
            r.pick(&[json!("01"), json!(""), json!(5), json!(true), json!("a_b"), json!(1.5)]).clone(),
        )
    }),
    ("labels are numbers", |d, _| set(&mut d.csv, "/metadata/labels", json!({"a": 1}))),
    ("display name is a list", |d, _| set(&mut d.csv, "/spec/displayName", json!(["a"]))),
    ("replicas are a string", |d, _| {
        set(&mut d.csv, "/spec/install/spec/deployments/0/spec/replicas", json!("1"))
    }),
    ("invalid quantity", |d, _| {
        set(
            &mut d.csv,
            "/spec/install/spec/deployments/0/spec/template/spec/containers/0/resources",
            json!({"limits": {"cpu": "much"}}),
        );
    }),
    ("deployments are an object", |d, _| set(&mut d.csv, "/spec/install/spec/deployments", json!({}))),
    ("another strategy", |d, _| set(&mut d.csv, "/spec/install/strategy", json!("image"))),
    ("no install", |d, _| remove(&mut d.csv, "/spec", "install")),
    ("no selector", |d, _| remove(&mut d.csv, "/spec/install/spec/deployments/0/spec", "selector")),
    ("duplicate deployment name", |d, r| {
        let second = deployment("manager", r);
        if let Some(all) = d.csv.pointer_mut("/spec/install/spec/deployments").and_then(Value::as_array_mut) {
            all.push(second);
        }
    }),
    ("invalid deployment name", |d, r| {
        set(&mut d.csv, "/spec/install/spec/deployments/0/name", json!(r.pick(&["", "Big", "a_b", "-a"])))
    }),
    ("missing owned CRD", |d, _| {
        push(
            &mut d.csv,
            "/spec/customresourcedefinitions/owned",
            json!({"name": "gone.example.com", "version": "v1", "kind": "Gone"}),
        )
    }),
    ("owned CRD of another version", |d, _| {
        set(&mut d.csv, "/spec/customresourcedefinitions/owned/0/version", json!("v9"))
    }),
    ("CRD name without group", |d, r| {
        let part = *r.pick(&["owned", "required"]);
        push(
            &mut d.csv,
            &format!("/spec/customresourcedefinitions/{part}"),
            json!({"name": "nogroup", "version": "v1", "kind": "No"}),
        );
    }),
    ("required CRD", |d, _| {
        push(
            &mut d.csv,
            "/spec/customresourcedefinitions/required",
            json!({"name": "needs.example.com", "version": "v1", "kind": "Need"}),
        )
    }),
    ("owned is a string", |d, _| set(&mut d.csv, "/spec/customresourcedefinitions", json!({"owned": "all"}))),
    ("duplicate CRD", |d, _| {
        if let Some(first) = d.crds.first().cloned() {
            d.crds.push(first);
        }
    }),
    ("v1beta1 CRD", |d, _| {
        if let Some(crd) = d.crds.first_mut() {
            crd["apiVersion"] = json!("apiextensions.k8s.io/v1beta1");
            crd["spec"]["version"] = json!("v1beta1");
        }
    }),
    ("CRD of another API group", |d, _| {
        if let Some(crd) = d.crds.first_mut() {
            crd["apiVersion"] = json!("example.com/v1");
        }
    }),
    ("malformed CRD schema", |d, _| {
        if let Some(crd) = d.crds.first_mut() {
            set(crd, "/spec/versions/0/schema/openAPIV3Schema/type", json!(["object"]));
        }
    }),
    ("CRD preserves unknown fields", |d, _| {
        if let Some(crd) = d.crds.first_mut() {
            crd["spec"]["preserveUnknownFields"] = json!(true);
        }
        d.options.certificate_provider = Some(CertificateProvider::CertManager);
        set(
            &mut d.csv,
            "/spec/webhookdefinitions",
            json!([{"generateName": "c.example.com", "type": "ConversionWebhook",
            "deploymentName": "manager", "conversionCRDs": ["webs0.example.com"], "sideEffects": "None", "admissionReviewVersions": ["v1"]}]),
        );
        set(&mut d.csv, "/spec/installModes", json!([{"type": "AllNamespaces", "supported": true}]));
    }),
    ("unsupported kind", |d, r| {
        let kind = *r.pick(&["Deployment", "Job", "Namespace", "Web0"]);
        d.others.push(json!({"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "foreign"}}));
    }),
    ("owned API service", |d, _| {
        set(
            &mut d.csv,
            "/spec/apiservicedefinitions",
            json!({"owned": [{"name": "apis", "group": "api.example.com", "version": "v1", "kind": "Api", "deploymentName": "manager"}]}),
        )
    }),
    ("required API service", |d, _| {
        set(
            &mut d.csv,
            "/spec/apiservicedefinitions",
            json!({"required": [{"name": "apis", "group": "api.example.com", "version": "v1", "kind": "Api"}]}),
        )
    }),
    ("no certificate provider", |d, r| {
        d.options.certificate_provider = None;
        let webhook_value = webhook(0, r);
        set(&mut d.csv, "/spec/webhookdefinitions", json!([webhook_value]));
    }),
    ("AllNamespaces unsupported", |d, _| {
        set(
            &mut d.csv,
            "/spec/installModes",
            json!([{"type": "OwnNamespace", "supported": true}, {"type": "SingleNamespace", "supported": true}]),
        )
    }),
    ("only MultiNamespace", |d, _| {
        set(&mut d.csv, "/spec/installModes", json!([{"type": "MultiNamespace", "supported": true}]))
    }),
    ("no install modes", |d, _| remove(&mut d.csv, "/spec", "installModes")),
    ("webhook of a missing deployment", |d, r| set_webhook_field(d, r, "deploymentName", json!("gone"))),
    ("invalid webhook name", |d, r| {
        let name = json!(r.pick(&["hook-", "Hook", "", "a..b"]));
        set_webhook_field(d, r, "generateName", name);
    }),
    ("webhook with wildcard rules", |d, r| {
        set_webhook_field(
            d,
            r,
            "rules",
            json!([{"apiGroups": ["*", "olm.operatorframework.io"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}]),
        )
    }),
    ("webhook on webhook configurations", |d, r| {
        set_webhook_field(
            d,
            r,
            "rules",
            json!([{"apiGroups": ["admissionregistration.k8s.io"], "apiVersions": ["*"], "resources": ["ValidatingWebhookConfigurations"], "operations": ["*"]}]),
        )
    }),
    ("duplicate webhook name", |d, r| {
        set_webhook_field(d, r, "webhookPath", json!("/a"));
        let again = d.csv.pointer("/spec/webhookdefinitions/0").cloned().unwrap_or_default();
        push(&mut d.csv, "/spec/webhookdefinitions", again);
    }),
    ("conversions", |d, r| {
        set_webhook_field(d, r, "type", json!("ConversionWebhook"));
        let foreign = if r.chance(50) { "webs0.example.com" } else { "foreign.example.com" };
        set(&mut d.csv, "/spec/webhookdefinitions/0/conversionCRDs", json!([foreign, "webs0.example.com"]));
    }),
    ("a property without a value", |d, _| {
        d.properties = Some(json!({"properties": [{"type": "x"}, {"type": "y", "value": "z"}]}))
    }),
    ("GVK with a number", |d, _| {
        d.properties = Some(json!({"properties": [{"type": "olm.gvk", "value": {"group": 1}}]}))
    }),
    ("properties are a string", |d, _| d.properties = Some(json!({"properties": "all"}))),
    ("a dependency on a list", |d, _| {
        d.dependencies = Some(json!({"dependencies": [{"type": "olm.package", "value": []}]}))
    }),
    ("property type is a number", |d, _| {
        d.dependencies = Some(json!({"dependencies": [{"type": 7, "value": "x"}]}))
    }),
    ("malformed properties annotation", |d, r| {
        let text = *r.pick(&[
            "[",
            "{}",
            "[5]",
            "[{\"type\": 5, \"value\": 1}]",
            "null",
            "[null]",
            "[{\"Type\": \"a\", \"VALUE\": [1, 2]}]",
            "[{\"type\":\"olm.package\",\"value\":{\"packageName\":\"q\",\"version\":\"9.9.9\"}}]",
        ]);
        set(&mut d.csv, "/metadata/annotations", json!({"olm.properties": text}));
    }),
    ("related images are strings", |d, _| set(&mut d.csv, "/spec/relatedImages", json!(["example.com/a:1"]))),
    ("an image is a number", |d, _| {
        set(&mut d.csv, "/spec/relatedImages", json!([{"name": "a", "image": 5}]))
    }),
    ("duplicate related images", |d, _| {
        set(
            &mut d.csv,
            "/spec/relatedImages",
            json!([{"name": "b", "image": "example.com/a:1"}, {"name": "a", "image": "example.com/a:1"}, null]),
        )
    }),
    ("many related images", |d, r| {
        // Lists all images of the Deployments, because opm adds missing ones in random order, and each image
        // once, because opm's sort is not stable for more than twelve.
        let pool =
            ["example.com/a:1", "example.com/web:1", "example.com/init:1", "example.com/q:1", "b:2", "c:3"];
        let mut all: Vec<Value> = pool.iter().map(|image| json!({"name": image, "image": image})).collect();
        for at in 0..r.below(80) {
            all.push(json!({"name": format!("n{at}"), "image": format!("example.com/{}:{at}", r.pick(&["x", "y", "z"]))}));
        }
        if r.chance(30) {
            all.sort_by_key(|pick| pick["image"].to_string());
        }
        if r.chance(30) {
            all.reverse();
        }
        set(&mut d.csv, "/spec/relatedImages", Value::Array(all));
    }),
    ("unsupported target namespace", |d, r| {
        d.options.single_own_namespace = true;
        d.options.target_namespaces = vec![(*r.pick(&["operators", "team-b"])).to_owned()];
        set(
            &mut d.csv,
            "/spec/installModes",
            json!([{"type": "AllNamespaces", "supported": true}, {"type": r.pick(&["OwnNamespace", "SingleNamespace", "MultiNamespace"]), "supported": true}]),
        );
    }),
    ("a long name", |d, _| {
        set(
            &mut d.csv,
            "/metadata/name",
            json!("a-very-long-name-of-an-operator-that-nobody-would-like-to-type.v1.2.3"),
        )
    }),
];

/// Adds a webhook and sets one of its fields.
fn set_webhook_field(d: &mut BundleDraft, random: &mut Random, key: &str, value: Value) {
    if d.options.certificate_provider.is_none() {
        d.options.certificate_provider = Some(CertificateProvider::CertManager);
    }
    let mut webhook_value = webhook(0, random);
    if webhook_value["type"] == json!("ConversionWebhook") {
        webhook_value["type"] = json!("MutatingAdmissionWebhook");
    }
    webhook_value[key] = value;
    set(&mut d.csv, "/spec/webhookdefinitions", json!([webhook_value]));
}

/// Sets the value at a JSON pointer whose last segment may be missing.
fn set(value: &mut Value, pointer: &str, new: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent) {
        Some(Value::Object(object)) => {
            object.insert(key.to_owned(), new);
        }
        Some(Value::Array(list)) => {
            if let Some(slot) = key.parse::<usize>().ok().and_then(|at| list.get_mut(at)) {
                *slot = new;
            }
        }
        _ => {}
    }
}

fn remove(value: &mut Value, parent: &str, key: &str) {
    if let Some(object) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
        object.remove(key);
    }
}

fn push(value: &mut Value, pointer: &str, new: Value) {
    if value.pointer(pointer).is_none() {
        set(value, pointer, json!([]));
    }
    if let Some(list) = value.pointer_mut(pointer).and_then(Value::as_array_mut) {
        list.push(new);
    }
}

fn to_node(value: &Value) -> Node {
    let yaml = match value {
        Value::Null => YamlValue::Null,
        Value::Bool(bool) => YamlValue::Bool(*bool),
        Value::Number(number) => match number.as_i64() {
            Some(number) => YamlValue::Int(number),
            None => YamlValue::Float(number.as_f64().unwrap()),
        },
        Value::String(text) => YamlValue::String(text.as_str().into()),
        Value::Array(all) => {
            let mut list = podium_goyaml::List::new();
            all.iter().for_each(|pick| list.push(to_node(pick)));
            YamlValue::List(list)
        }
        Value::Object(all) => {
            let mut map = podium_goyaml::Map::new();
            all.iter().for_each(|(key, pick)| {
                map.insert(key.as_str(), to_node(pick));
            });
            YamlValue::Map(map)
        }
    };
    Node::new(yaml, Pos::default())
}

/// Encodes a value as YAML or, less often, as JSON.
fn encode_file(value: &Value, random: &mut Random) -> Vec<u8> {
    let yaml = || emit::to_yaml(&&to_node(value)).unwrap();
    match random.below(10) {
        0 => value.to_string().into_bytes(),
        1 => serde_json::to_vec_pretty(value).unwrap(),
        2 => [b"---\n".as_slice(), &yaml()].concat(),
        3 => [b"# made up\n".as_slice(), &yaml()].concat(),
        _ => yaml(),
    }
}

fn encode_files(draft: &BundleDraft, random: &mut Random) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let csv_name = &draft.csv_name;
    if !draft.csv.is_null() {
        files.insert(format!("manifests/{csv_name}"), encode_file(&draft.csv, random));
    } else if !csv_name.is_empty() {
        files.insert("manifests/.keep".to_owned(), Vec::new());
    }
    for (at, crd) in draft.crds.iter().enumerate() {
        files.insert(format!("manifests/crd-{at}.yaml"), encode_file(crd, random));
    }
    for (at, other) in draft.others.iter().enumerate() {
        files.insert(format!("manifests/other-{at}.yaml"), encode_file(other, random));
    }
    if !draft.annotations.is_null() {
        files.insert("metadata/annotations.yaml".to_owned(), encode_file(&draft.annotations, random));
    }
    if let Some(properties) = &draft.properties {
        files.insert("metadata/properties.yaml".to_owned(), encode_file(properties, random));
    }
    if let Some(dependencies) = &draft.dependencies {
        files.insert("metadata/dependencies.yaml".to_owned(), encode_file(dependencies, random));
    }
    files.extend(draft.extra_files.iter().cloned());
    if !files.keys().any(|path| path.starts_with("metadata/")) {
        files.insert("metadata/.keep".to_owned(), Vec::new());
    }
    files
}
