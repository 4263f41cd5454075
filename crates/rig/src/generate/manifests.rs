//! Whole output: separators, kinds, hooks, crds, notes. Judged as `helm template` prints it.

use crate::random::Random;
use crate::request::{File, RenderRequest};

use super::{Case, Check, Family};

const KINDS: &[&str] = &[
    "ConfigMap",
    "Secret",
    "Service",
    "Deployment",
    "StatefulSet",
    "Job",
    "CronJob",
    "Namespace",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "PersistentVolumeClaim",
    "Ingress",
    "Pod",
    "DaemonSet",
    "NetworkPolicy",
    "PriorityClass",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "APIService",
    "HorizontalPodAutoscaler",
    "Zebra",
    "Apple",
    "",
    "LimitRange",
    "ResourceQuota",
    "PodDisruptionBudget",
    "StorageClass",
    "PersistentVolume",
    "ReplicaSet",
    "ReplicationController",
    "IngressClass",
    "SecretList",
    "RoleList",
    "ClusterRoleList",
    "RoleBindingList",
    "ClusterRoleBindingList",
    "PodSecurityPolicy",
];

const SEPARATORS: &[&str] = &[
    "---\n",
    "---\n",
    "--- \n",
    "---\t\n",
    "--- # c\n",
    "\n---\n\n",
    "---\n---\n",
    "---\n\n---\n",
    "\n\n\n---\n",
];
const ODD_SEPARATORS: &[&str] =
    &["  ---\n", "---x: 1\n", "----\n", "\r\n---\r\n", "---", "...\n---\n", "--- |\n", "--- text\n"];

/// A chart of one to four files with one to four documents each.
pub fn case(random: &mut Random) -> Case {
    let mut files = vec![File::new(
        "Chart.yaml",
        format!(
            "apiVersion: v2\nname: man\nversion: 0.1.0\n{}",
            random.pick_or(
                &["", "", "deprecated: true\n"],
                12,
                &["kubeVersion: '>=1.20-0'\n", "kubeVersion: '<1.20'\n"]
            )
        ),
    )];
    for i in 0..1 + random.below(4) {
        let folder = random.pick(&["", "", "", "sub/", "tests/"]);
        let ending = random.pick(&["yaml", "yaml", "yml", "txt", "json", "tpl"]);
        let mut text = String::new();
        for d in 0..1 + random.below(4) {
            if d > 0 || random.chance(30) {
                text += random.pick_or(SEPARATORS, 8, ODD_SEPARATORS);
            }
            text += &document(random);
        }
        text += random.pick(&["", "", "\n", "\n\n", "---\n", "  ", "\n---"]);
        if random.chance(6) {
            text = text.replace('\n', "\r\n");
        }
        files.push(File::new(format!("templates/{folder}f{i}.{ending}"), text));
    }
    if random.chance(15) {
        files.push(File::new("templates/NOTES.txt", "notes"));
    }
    if random.chance(10) {
        files.push(File::new("templates/_partial.yaml", "not: rendered"));
    }
    if random.chance(20) {
        files.push(File::new(
            "crds/crd.yaml",
            random.pick(&[
                "kind: CustomResourceDefinition\n",
                "a: 1\n---\nb: 2\n",
                "{{ not a template }}\n",
                "",
            ]),
        ));
        files.push(File::new("crds/readme.md", "no crd"));
    }
    let mut request = RenderRequest::chart(files);
    request.stdout = true;
    request.include_crds = random.chance(30);
    request.no_hooks = random.chance(15);
    request.skip_tests = random.chance(15);
    request.upgrade = random.chance(10);
    if random.chance(10) {
        request.kube_version =
            random.pick(&["1.29", "v1.33.4-gke.1", "1.19.0", "v1", "nonsense", "1.2.3.4"]).to_owned();
    }
    if random.chance(5) {
        request.release = random
            .pick(&[
                "Bad_Name",
                "x",
                "a.b",
                "a-very-long-release-name-that-goes-past-the-limit-of-53-chars",
                "-a",
            ])
            .to_owned();
    }
    Case::new(Family::Manifests, request, Check::Exact)
}

fn document(random: &mut Random) -> String {
    match random.below(30) {
        0..=2 => {
            return random
                .pick(&["# only a comment\n", "\n", "   \n", "", "# c\n\n# d\n", "null\n", "{}\n"])
                .to_owned();
        }
        3 => {
            return random
                .pick(&[
                    "- a\n- b\n",
                    "just text\n",
                    "a: b: c\n",
                    "\tx: 1\n",
                    "kind: [\n",
                    "42\n",
                    "a: 1\na: 2\n",
                    "kind: {a: b}\n",
                    "{{ \"{{\" }}\n",
                    "metadata: 5\n",
                ])
                .to_owned();
        }
        _ => {}
    }
    let mut out = random.pick(&["", "", "", "# lead\n", "\n"]).to_owned();
    out += &format!("apiVersion: {}\n", random.pick(&["v1", "v1", "apps/v1", "batch/v1", "", "3"]));
    out += &format!("kind: {}\n", random.pick(KINDS));
    out += "metadata:\n";
    out += &format!(
        "  name: {}\n",
        random.pick(&["b", "a", "z", "\"q\"", "5", "true", "", "{{ .Release.Name }}", "c"])
    );
    if random.chance(45) {
        out += "  annotations:\n";
        if random.chance(80) {
            out += &format!(
                "    \"helm.sh/hook\": {}\n",
                random.pick(&[
                    "pre-install",
                    "post-install",
                    "pre-upgrade",
                    "test",
                    "test-success",
                    "pre-delete",
                    "\" Pre-Install , post-install\"",
                    "bogus",
                    "pre-install,bogus",
                    "\"\"",
                    "test-failure",
                    "crd-install",
                    "pre-rollback,post-rollback",
                    "null",
                    "5",
                ])
            );
        }
        if random.chance(50) {
            out += &format!(
                "    \"helm.sh/hook-weight\": {}\n",
                random.pick(&["\"5\"", "\"-3\"", "3", "\"x\"", "\"0\"", "\"+2\"", "1.5", "\" 4\""])
            );
        }
        if random.chance(25) {
            out += &format!(
                "    \"helm.sh/hook-delete-policy\": {}\n",
                random.pick(&["hook-succeeded", "before-hook-creation,hook-failed", "nonsense", "\"\""])
            );
        }
        if random.chance(15) {
            out += &format!(
                "    plain: {}\n",
                random.pick(&["text", "3", "true", "null", "1e3", "1.0", "{a: b}"])
            );
        }
    }
    if random.chance(30) {
        out += random.pick(&[
            "data: {a: \"1\"}\n",
            "data:\n  x: |\n    ---\n    y\n",
            "data:\n  x: |\n---\n",
            "spec: {}   \n",
            "extra: 1",
            "list:\n- a\n",
        ]);
    }
    out
}
