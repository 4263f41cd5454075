//! The first hour with real clients: the same command lines on the real servers and on ours, and what they print.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests, and the differences are for people"
)]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use podium_rig::cluster::{Cluster, Options, Server};
use podium_rig::request::Dialect;

/// What is typed, one line after the other; `|` feeds what follows it to the command.
const LINES: &str = r#"
kubectl version
kubectl get namespaces
kubectl create namespace shop
kubectl get namespace shop -o jsonpath={.status.phase}
kubectl create configmap settings --from-literal=color=red -n shop
kubectl get configmap settings -n shop -o yaml
kubectl create secret generic keys --from-literal=password=hidden -n shop
kubectl get secrets -n shop
kubectl describe secret keys -n shop
kubectl create configmap settings --from-literal=color=red -n shop
kubectl get configmap nothing -n shop
kubectl get nonsense
kubectl apply -n shop -f - | apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
kubectl apply -n shop -f - | apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
kubectl get service web -n shop
kubectl apply -n shop -f - | apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 81, targetPort: 8080}]}
kubectl apply -n shop -f - | apiVersion: v1\nkind: ConfigMap\nmetadata: {name: typo}\ndta: {a: b}
kubectl apply -n shop -f - | apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Wrong_Name}
kubectl create deployment web --image=nginx:1.25 --replicas=0 -n shop
kubectl get deployments -n shop -o wide
kubectl scale deployment web --replicas=0 -n shop
kubectl set image deployment/web nginx=nginx:1.26 -n shop
kubectl get deployment web -n shop -o jsonpath={.spec.template.spec.containers[0].image}
kubectl label deployment web tier=front -n shop
kubectl annotate deployment web note=hello -n shop
kubectl patch deployment web -n shop --type=json -p [{"op":"replace","path":"/spec/paused","value":true}]
kubectl patch deployment web -n shop --type=merge -p {"spec":{"paused":null}}
kubectl patch deployment web -n shop -p {"spec":{"template":{"spec":{"containers":[{"name":"nginx","env":[{"name":"A","value":"1"}]}]}}}}
kubectl patch deployment web -n shop -p {"spec":{"replicas":"many"}}
kubectl rollout history deployment/web -n shop
kubectl apply -n shop --server-side -f - | apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned}\ndata: {a: "1"}
kubectl apply -n shop --server-side --field-manager=other -f - | apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned}\ndata: {a: "2"}
kubectl apply -n shop --server-side --field-manager=other --force-conflicts -f - | apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned}\ndata: {a: "2"}
kubectl get configmap owned -n shop -o jsonpath={.metadata.managedFields[*].manager}
kubectl diff -n shop -f - | apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned}\ndata: {a: "2"}
kubectl create job once --image=busybox:1 -n shop -- true
kubectl create cronjob tick --image=busybox:1 --schedule=*/5_*_*_*_* -n shop
kubectl get cronjobs -n shop
kubectl create ingress front --rule=example.com/=web:81 -n shop
kubectl get ingress -n shop
kubectl create role reader --verb=get,list --resource=configmaps -n shop
kubectl create rolebinding reader --role=reader --user=bob -n shop
kubectl auth can-i list configmaps -n shop --as=bob
kubectl auth can-i list secrets -n shop --as=bob
kubectl get secrets -n shop --as=bob
kubectl auth can-i --list -n shop --as=bob
kubectl create serviceaccount robot -n shop
kubectl create quota small --hard=pods=2 -n shop
kubectl create poddisruptionbudget web --selector=app=web --min-available=1 -n shop
kubectl get pdb -n shop
kubectl explain service.spec.ports.port
kubectl apply -f - | apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec: {group: example.com, scope: Namespaced, names: {plural: things, kind: Thing, shortNames: [th]}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}], schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, required: [size], properties: {size: {type: integer, minimum: 1}, color: {type: string, default: red}}}, status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}]}
kubectl wait --for=condition=Established crd/things.example.com --timeout=20s
kubectl apply -n shop -f - | apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: one}\nspec: {size: 3}
kubectl get things -n shop
kubectl get th one -n shop -o jsonpath={.spec}
kubectl apply -n shop -f - | apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: two}\nspec: {size: 0}
kubectl apply -n shop -f - | apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: two}\nspec: {size: 1, sise: 2}
kubectl patch thing one -n shop --type=merge --subresource=status -p {"status":{"phase":"Done"}}
kubectl get thing one -n shop -o jsonpath={.status.phase}/{.metadata.generation}
kubectl explain thing.spec
kubectl delete thing one -n shop
kubectl delete crd things.example.com
kubectl get things -n shop
kubectl delete configmap settings -n shop
kubectl delete deployment web -n shop --dry-run=server
kubectl delete pdb,ingress,cronjob --all -n shop
helm3 install three CHART -n shop
helm3 upgrade three CHART -n shop --set replicas=0 --set color=blue
helm3 list -n shop
helm3 get values three -n shop
helm3 rollback three 1 -n shop
helm3 uninstall three -n shop
helm4 install four CHART -n shop
helm4 upgrade four CHART -n shop --set color=blue
helm4 list -n shop
helm4 get manifest four -n shop
helm4 rollback four 1 -n shop
helm4 uninstall four -n shop
kubectl delete namespace shop
kubectl get namespace shop
"#;

/// What only one of the servers prints, and why.
const KNOWN: &[(&str, &str)] = &[
    (
        "The port that will be exposed by this service.",
        "built-in kinds have no descriptions (api-differences, A5)",
    ),
    ("<empty>", "what stands in its place"),
];

fn spawn(cluster: &Cluster, line: &str) -> Output {
    let (line, input) = line.split_once(" | ").unwrap_or((line, ""));
    let mut words = line.split(' ');
    let program = words.next().unwrap();
    let mut command: Command = match program {
        "helm3" => cluster.helm(Dialect::Helm3),
        "helm4" => cluster.helm(Dialect::Helm4),
        _ => cluster.kubectl(),
    };
    let chart = cluster.folder().join("chart").display().to_string();
    command.args(words.map(|word| {
        if word == "CHART" {
            chart.clone()
        } else {
            word.replace("_", if word.contains("/5_") { " " } else { "_" })
        }
    }));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.replace("\\n", "\n").as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// The words of a text without what each server makes itself: moments, ages, uids, versions, addresses.
fn masked(text: &str) -> Vec<Vec<String>> {
    let word = |word: &str| {
        let bare = word.trim_matches(|c: char| "\"',;()[]{}".contains(c));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_age = bare.len() > 1
            && bare.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
            && bare.bytes().all(|byte| byte.is_ascii_digit() || b"smhd".contains(&byte))
            && bare.ends_with(['s', 'm', 'h', 'd']);
        let is_uid = bare.len() == 36 && bare.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
        let is_time = bare.len() >= 19 && bare.get(4..5) == Some("-") && bare.contains(':');
        let is_clock = bare.len() >= 8 && bare.split(':').map(str::len).take(2).eq([2, 2]);
        let is_address = bare.starts_with("10.96.") || bare.starts_with("https://127.0.0.1");
        match () {
            () if is_age => word.replace(bare, "AGE"),
            () if is_uid => word.replace(bare, "UID"),
            () if is_time || is_clock => word.replace(bare, "TIME"),
            () if is_address => word.replace(bare, "ADDRESS"),
            () if digits(bare) && bare.len() > 8 => word.replace(bare, "NUMBER"),
            () => word.to_owned(),
        }
    };
    let line = |line: &str| -> Vec<String> {
        let words: Vec<String> = line.split_whitespace().map(word).collect();
        match words.first().map(String::as_str) {
            Some("resourceVersion:") => vec!["resourceVersion: N".to_owned()],
            _ => words,
        }
    };
    text.lines().map(line).collect()
}

fn chart(cluster: &Cluster) {
    let folder = cluster.folder().join("chart");
    std::fs::create_dir_all(folder.join("templates")).unwrap();
    std::fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: small\nversion: 1.0.0\n").unwrap();
    std::fs::write(folder.join("values.yaml"), "color: red\nreplicas: 0\n").unwrap();
    let objects = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata: {color: '{{ .Values.color }}'}\n---\n\
                   apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: '{{ .Release.Name }}'}\nspec:\n  replicas: {{ .Values.replicas }}\n  \
                   selector: {matchLabels: {app: '{{ .Release.Name }}'}}\n  template:\n    metadata: {labels: {app: '{{ .Release.Name }}'}}\n    \
                   spec: {containers: [{name: c, image: 'x:1'}]}\n";
    std::fs::write(folder.join("templates/objects.yaml"), objects).unwrap();
}

#[test]
#[ignore = "needs the pinned originals: make tools"]
fn the_first_hour_is_the_same_on_both_servers() {
    let start = |server| {
        let cluster =
            Cluster::with(Options { server: Some(server), controllers: true, ..Options::default() }).unwrap();
        chart(&cluster);
        cluster
    };
    let (real, ours) = std::thread::scope(|scope| {
        let real = scope.spawn(|| start(Server::Kubernetes));
        let ours = scope.spawn(|| start(Server::Podium));
        (real.join().unwrap(), ours.join().unwrap())
    });
    let mut different = Vec::new();
    let mut count = 0;
    for line in LINES.lines().filter(|line| !line.is_empty()) {
        count += 1;
        let (one, other) = std::thread::scope(|scope| {
            let one = scope.spawn(|| spawn(&real, line));
            let other = scope.spawn(|| spawn(&ours, line));
            (one.join().unwrap(), other.join().unwrap())
        });
        let text = |output: &Output| {
            let all = [output.stdout.as_slice(), &output.stderr].concat();
            String::from_utf8_lossy(&all).into_owned()
        };
        let known = |line: &&Vec<String>| {
            !line.is_empty() && !KNOWN.iter().any(|(start, _)| line.join(" ").starts_with(start))
        };
        let (a, b) = (masked(&text(&one)), masked(&text(&other)));
        let same =
            a.iter().filter(known).eq(b.iter().filter(known)) && one.status.code() == other.status.code();
        if !same {
            println!(
                "$ {line}\n--- real ({:?})\n{}\n--- ours ({:?})\n{}",
                one.status.code(),
                text(&one),
                other.status.code(),
                text(&other)
            );
            different.push(line);
        }
    }
    println!("{count} command lines of kubectl, helm 3 and helm 4, {} with another outcome", different.len());
    assert_eq!(different, [""; 0]);
}
