//! Charts with something wrong in them, and the rules of the linter that should notice.

use std::collections::BTreeMap;

use podium_rig::random::Random;

/// The files of a chart by their paths; nothing for a directory.
pub type Files = BTreeMap<String, Option<Vec<u8>>>;

/// One change of a chart's files.
#[derive(Clone, Copy)]
pub enum Edit {
    /// A file with this text.
    Put(&'static str, &'static str),
    /// Text at the end of a file.
    More(&'static str, &'static str),
    /// Another text in the place of one.
    Swap(&'static str, &'static str, &'static str),
    /// No such file, or nothing below that directory.
    Gone(&'static str),
    /// A directory in the place of a file.
    Folder(&'static str),
}

use Edit::{Folder, Gone, More, Put, Swap};

const META: &str = "Chart.yaml";
const VALUES: &str = "values.yaml";
const CONFIG: &str = "templates/config.yaml";
const SUB: &str = "apiVersion: v2\nname: sub\nversion: 0.1.0\n";

/// A chart without a flaw.
pub fn chart(name: &str) -> Files {
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ include \"name\" . }}\nspec:\n  \
                      selector:\n    matchLabels: {app: a}\n";
    let files = [
        (
            META,
            format!(
                "apiVersion: v2\nname: {name}\nversion: 1.2.3\nappVersion: \"4.5\"\ndescription: one\nicon: \
                 https://example.com/i.png\nmaintainers:\n- name: a\n  email: a@example.com\n  url: https://example.com\n\
                 sources: [https://example.com/s]\nkeywords: [x, y]\n"
            ),
        ),
        (VALUES, "port: 80\nname: web\n# a comment\nsub: {on: true}\n".to_owned()),
        (
            CONFIG,
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\ndata: {port: {{ .Values.port | \
             quote }}, rel: {{ .Release.Name }}-{{ .Release.IsInstall }}-{{ .Release.Revision }}}\n"
                .to_owned(),
        ),
        ("templates/deployment.yaml", deployment.to_owned()),
        ("templates/_helpers.tpl", "{{ define \"name\" }}{{ .Chart.Name }}{{ end }}".to_owned()),
        ("templates/NOTES.txt", "Hello {{ .Release.Name }}\n".to_owned()),
        ("README.md", "# Readme\n".to_owned()),
        ("crds/widgets.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n".to_owned()),
        (".helmignore", "*.bak\nnotes/\n".to_owned()),
        ("notes/a.txt", "ignored".to_owned()),
        ("data/b.bak", "ignored".to_owned()),
        ("data/c.txt", "kept".to_owned()),
    ];
    files.into_iter().map(|(path, text)| (path.to_owned(), Some(text.into_bytes()))).collect()
}

impl Edit {
    pub fn apply(self, files: &mut Files) {
        match self {
            Put(path, text) => {
                files.retain(|file, _| !file.starts_with(&format!("{path}/")));
                files.insert(path.to_owned(), Some(text.as_bytes().to_vec()));
            }
            More(path, text) => {
                if let Some(Some(file)) = files.get_mut(path) {
                    file.extend_from_slice(text.as_bytes());
                }
            }
            Swap(path, from, to) => {
                if let Some(Some(file)) = files.get_mut(path) {
                    *file = String::from_utf8_lossy(file).replace(from, to).into_bytes();
                }
            }
            Gone(path) => files.retain(|file, _| file != path && !file.starts_with(&format!("{path}/"))),
            Folder(path) => {
                files.insert(path.to_owned(), None);
            }
        }
    }
}

/// Flaws: each is one or more changes.
pub const FLAWS: &[&[Edit]] = &[
    &[Folder(META)],
    &[Put(META, "a: [\n")],
    &[Put(META, "- a\n")],
    &[Put(META, "")],
    &[Put(META, "name: [1]\n")],
    &[More(META, "nmae: x\n")],
    &[More(META, "name: again\nversion: 2.0.0\n")],
    &[More(META, "Name: folded\n")],
    &[More(META, "annotations: {a: b, a: c}\n")],
    &[Swap(META, "- name: a\n", "- name: a\n  phone: 1\n")],
    &[Swap(META, "name: ", "nome: ")],
    &[Swap(META, "\nname: ", "\nname: x/")],
    &[Swap(META, "apiVersion: v2\n", "")],
    &[Swap(META, "apiVersion: v2", "apiVersion: v9")],
    &[Swap(META, "apiVersion: v2", "apiVersion: v1")],
    &[Swap(META, "apiVersion: v2", "apiVersion: v3")],
    &[Swap(META, "version: 1.2.3\n", "")],
    &[Swap(META, "version: 1.2.3", "version: 1.2")],
    &[Swap(META, "version: 1.2.3", "version: 1")],
    &[Swap(META, "version: 1.2.3", "version: null")],
    &[Swap(META, "version: 1.2.3", "version: \"\"")],
    &[Swap(META, "version: 1.2.3", "version: one")],
    &[Swap(META, "version: 1.2.3", "version: v1.2.3")],
    &[Swap(META, "version: 1.2.3", "version: 0.0.0-0")],
    &[Swap(META, "version: 1.2.3", "version: 0.0.0")],
    &[Swap(META, "version: 1.2.3", "version: 1.2.3-rc.1+b")],
    &[Swap(META, "version: 1.2.3", "version: 1.02.3")],
    &[Swap(META, "\"4.5\"", "4.5")],
    &[Swap(META, "\"4.5\"", "true")],
    &[Swap(META, "\"4.5\"", "[1]")],
    &[Swap(META, "\"4.5\"", "{a: 1}")],
    &[Swap(META, "\"4.5\"", "null")],
    &[Swap(META, "- name: a\n", "- null\n- name: a\n")],
    &[Swap(META, "- name: a\n", "- name: b\n  email: no\n- name: a\n")],
    &[Swap(META, "- name: a\n", "- name: \"\"\n")],
    &[Swap(META, "a@example.com", "a@b")],
    &[Swap(META, "a@example.com", "\"\\\"a b\\\"@example.com\"")],
    &[Swap(META, "a@example.com", "a..b@example.com")],
    &[Swap(META, "a@example.com", "ü@exämple.com")],
    &[Swap(META, "a@example.com", "a@example.c0m")],
    &[Swap(META, "a@example.com", "A.B@EXAMPLE.COM")],
    &[Swap(META, "url: https://example.com", "url: nodots")],
    &[Swap(META, "url: https://example.com", "url: example.com:80/x?y")],
    &[Swap(META, "url: https://example.com", "url: http://10.0.0.256/")],
    &[Swap(META, "url: https://example.com", "url: http://10.0.0.25:8080/a b")],
    &[Swap(META, "url: https://example.com", "url: \"http://[::1]:80/\"")],
    &[Swap(META, "url: https://example.com", "url: user@host.com")],
    &[Swap(META, "url: https://example.com", "url: http://a_b.example.com")],
    &[Swap(META, "url: https://example.com", "url: ftp://x.y/%zz")],
    &[Swap(META, "[https://example.com/s]", "[\"\"]")],
    &[Swap(META, "[https://example.com/s]", "[a, /b]")],
    &[Swap(META, "[https://example.com/s]", "[\"http://a b/\"]")],
    &[Swap(META, "[https://example.com/s]", "[\"mailto:x\", /b]")],
    &[Swap(META, "icon: https://example.com/i.png\n", "")],
    &[Swap(META, "icon: https://example.com/i.png", "icon: i.png")],
    &[Swap(META, "icon: https://example.com/i.png", "icon: data:image/png;base64,AA==")],
    &[Swap(META, "apiVersion: v2", "apiVersion: v1\ntype: application")],
    &[More(META, "type: library\n")],
    &[More(META, "type: other\n")],
    &[More(META, "kubeVersion: \">= 9\"\n")],
    &[More(META, "deprecated: true\n")],
    &[More(META, "dependencies:\n- {name: sub, version: 0.x, repository: \"https://x\"}\n")],
    &[More(META, "dependencies:\n- {name: sub, version: 0.x, alias: \"a b\"}\n")],
    &[More(META, "dependencies:\n- {name: sub}\n- {name: sub}\n")],
    &[More(META, "dependencies:\n- null\n")],
    &[More(META, "dependencies: []\n")],
    &[
        More(
            META,
            "dependencies:\n- {name: sub, version: 0.x, repository: \"\", import-values: [{child: a, parent: b}]}\n",
        ),
        Put("charts/sub/Chart.yaml", SUB),
        Put("charts/sub/templates/x.yaml", "a: {{ .Values.on }}"),
    ],
    &[
        More(META, "dependencies:\n- {name: sub, version: 9.x, repository: \"\"}\n"),
        Put("charts/sub/Chart.yaml", SUB),
    ],
    &[Swap(META, "apiVersion: v2", "apiVersion: v1\ndependencies: [{name: sub, version: 0.x}]")],
    &[Put("charts/sub/Chart.yaml", SUB), Put("charts/sub/values.yaml", "on: 1\n")],
    &[Put("charts/sub/Chart.yaml", SUB), Put("charts/sub/crds/c.yaml", "kind: X\n")],
    &[Put("charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\n")],
    &[Put("charts/x.tgz", "no archive")],
    &[Put("charts/.x/a", "hidden")],
    &[Put("charts/sub/a.txt", "no chart")],
    &[Put("requirements.yaml", "dependencies: [{name: sub, version: 0.x, repository: \"\"}]\n")],
    &[Put("Chart.lock", "generated: 2020-01-02T03:04:05.670Z\ndigest: x\ndependencies: []\n")],
    &[Put("Chart.lock", "generated: yesterday\n")],
    &[Gone(VALUES)],
    &[Folder(VALUES), Put("values.yaml/x", "")],
    &[Put(VALUES, "- a\n")],
    &[Put(VALUES, "a: b: c\n")],
    &[Put(VALUES, "port: 80\nname: web\n---\nname: [\n")],
    &[Put(VALUES, "port: 80\nname: null\n---\nname: two\n")],
    &[Put("values.schema.json", "{\"properties\": {\"port\": {\"type\": \"string\"}}}")],
    &[Put(
        "values.schema.json",
        "{\"required\": [\"nope\"], \"properties\": {\"name\": {\"type\": \"string\"}}}",
    )],
    &[Put("values.schema.json", "{\"type\": \"object\"}")],
    &[Put("values.schema.json", "{")],
    &[Put("values.schema.json", "")],
    &[Put("values.schema.json", "{\"type\": 3}")],
    &[Put("values.schema.json", "[]")],
    &[Gone("templates")],
    &[Put("templates", "a file")],
    &[Put("templates/x.json", "{}"), Put("templates/noext", "x")],
    &[Put("templates/x.yml", "  a: 1\n"), Put("templates/y.YAML", "a: [\n")],
    &[Put(CONFIG, "{{ .Values.nope.nope }}")],
    &[Put(CONFIG, "{{ if }}")],
    &[Put(CONFIG, "{{ include \"nope\" . }}")],
    &[Put(CONFIG, "{{ required \"needed\" .Values.nope }}a: {{ fail \"x\" }}")],
    &[Put(CONFIG, "{{ lookup \"v1\" \"Pod\" \"\" \"\" }}")],
    &[Put(CONFIG, "{{ first 3 }}")],
    &[Put(CONFIG, "  indented: 1\n")],
    &[Put(CONFIG, "\n\n\tindented: 1\n")],
    &[Put(CONFIG, "a: b: c\n")],
    &[Put(CONFIG, "a: 1\n---\nb: [\n")],
    &[Put(CONFIG, "kind: [1]\n")],
    &[Put(CONFIG, "kind: 3\nmetadata: {name: 4}\n")],
    &[Put(CONFIG, "metadata: [1]\n")],
    &[Put(CONFIG, "- 1\n")],
    &[Put(CONFIG, "just text")],
    &[Put(CONFIG, "# only a comment\n")],
    &[Put(CONFIG, "---\n---\n")],
    &[Put(CONFIG, "--- x\na: 1\n")],
    &[Put(CONFIG, "{\"kind\": \"A\", \"metadata\": {\"name\": \"a\"}}")],
    &[Put(CONFIG, "{\"kind\": \"A\"}\n{\"kind\": \"B_\"}\n{\"kind\"\n")],
    &[Put(CONFIG, "{\"kind\": 3}")],
    &[Put(CONFIG, "{a: b}\n---\nkind: C\nmetadata: {name: c}\n")],
    &[Put(CONFIG, "{\"a\": \n")],
    &[Put(CONFIG, "{{ \"{\" }}a\n")],
    &[Put(CONFIG, "kind: Pod\nmetadata: {name: A_b}\n")],
    &[Put(CONFIG, "kind: Service\nmetadata: {name: 9a}\n")],
    &[Put(CONFIG, "kind: Namespace\nmetadata: {name: a.b}\n")],
    &[Put(CONFIG, "kind: Role\nmetadata: {name: \"a/%\"}\n")],
    &[Put(CONFIG, "kind: Role\nmetadata: {name: \"..\"}\n")],
    &[Put(CONFIG, "kind: CertificateSigningRequest\nmetadata: {name: \"A B\"}\n")],
    &[Put(CONFIG, "kind: ServiceAccount\nmetadata: {name: -a}\n")],
    &[Put(CONFIG, "kind: Pod\n")],
    &[Put(
        CONFIG,
        "kind: Pod\nmetadata: {name: {{ repeat 260 \"A\" }}}\n---\nkind: Service\nmetadata: {name: {{ repeat 70 \"a\" }}}\n\
         ---\nkind: Namespace\nmetadata: {name: {{ repeat 70 \"-\" }}}\n",
    )],
    &[Put(CONFIG, "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n")],
    &[Put(CONFIG, "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n")],
    &[Put(CONFIG, "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: a}\n")],
    &[Put(CONFIG, "apiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n")],
    &[Put(
        CONFIG,
        "apiVersion: flowcontrol.apiserver.k8s.io/v1beta3\nkind: FlowSchema\nmetadata: {name: a}\n",
    )],
    &[Put(CONFIG, "apiVersion: v1\nkind: Endpoints\nmetadata: {name: a}\n")],
    &[Put(CONFIG, "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\n")],
    &[Put(CONFIG, "kind: StatefulSet\nmetadata: {name: a}\nspec: {x: matchExpressions}\n")],
    &[Put(
        CONFIG,
        "kind: List\nmetadata: {name: a}\nitems: [{metadata: {annotations: {helm.sh/resource-policy: keep}}}]\n",
    )],
    &[Put(CONFIG, "kind: List\nmetadata: {name: a}\nitems: [{metadata: {annotations: {a: 1, b: [1]}}}]\n")],
    &[Put(CONFIG, "kind: List\nmetadata: {name: a}\nitems: 3\n")],
    &[More(CONFIG, "# helm.sh/hook: crd-install\n")],
    &[More(CONFIG, "# \"helm.sh/hook\":   crd-install\n")],
    &[More("templates/NOTES.txt", "{{/* .Release.Time */}}")],
    &[Gone("crds")],
    &[Put("crds", "a file")],
    &[Put("crds/widgets.yaml", "apiVersion: v1\nkind: Secret\n---\nkind: X\n")],
    &[Put("crds/widgets.yaml", "a: {{ .x }}: b\n")],
    &[Put("crds/widgets.yaml", "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n")],
    &[Put("crds/x.json", "{\"apiVersion\": \"a\", \"kind\": \"b\"}")],
    &[Put("crds/readme.txt", "text")],
    &[Put(".helmignore", "**\n")],
    &[Put(".helmignore", "!*.yaml\n")],
    &[Put("README.md", "\u{feff}# bom\n"), Put("readme.txt", "two")],
    &[Put("templates/sub/dir/x.yaml", "a: 1\n")],
];

/// A rule of the linter: a name, what its message has in it, and which helms have it.
pub const RULES: &[(&str, &str, &[usize])] = &[
    ("chart file is a file", "should be a file, not a directory", &[3, 4]),
    ("chart file can be read", "Chart.yaml: unable to parse YAML", &[3, 4]),
    ("strict: unknown field", "json: unknown field", &[4]),
    ("strict: key twice", "already set in map", &[4]),
    ("name is there", "name is required", &[3, 4]),
    ("name is no path", "chart name \"", &[3, 4]),
    ("apiVersion is there", "apiVersion is required", &[3, 4]),
    ("apiVersion is known", "is not valid. The value must be either", &[3, 4]),
    ("version is a string", "version should be of type string", &[3, 4]),
    ("version is there", "Chart.yaml: version is required", &[3, 4]),
    ("version is one", "is not a valid SemVer\n", &[3, 4]),
    ("version is large enough", "is less than or equal to", &[3, 4]),
    ("version is whole", "is not a valid SemVerV2", &[4]),
    ("appVersion is a string", "appVersion should be of type string", &[3, 4]),
    ("maintainer is there", "a maintainer entry is empty", &[3, 4]),
    ("maintainer has a name", "each maintainer requires a name", &[3, 4]),
    ("maintainer has mail", "invalid email", &[3, 4]),
    ("maintainer has a page", "invalid url", &[3, 4]),
    ("sources are URLs", "invalid source URL", &[3, 4]),
    ("icon is there", "icon is recommended", &[3, 4]),
    ("icon is a URL", "invalid icon URL", &[3, 4]),
    ("type needs v2", "chart type is not valid in apiVersion", &[3, 4]),
    ("dependencies need v2", "dependencies are not valid in the Chart file", &[3, 4]),
    ("values are there", "values.yaml: file does not exist", &[3, 4]),
    ("values can be read", "values.yaml: unable to parse YAML", &[3, 4]),
    ("values fit the schema", "values.yaml: - at", &[3, 4]),
    ("templates are there", "templates/: directory does not exist", &[4]),
    ("templates are a directory", "templates/: not a directory", &[3, 4]),
    ("chart can be loaded", "templates/: validation:", &[3, 4]),
    ("values of subcharts fit", "templates/: values don't meet", &[3, 4]),
    ("templates can be parsed", "templates/: parse error", &[3, 4]),
    ("templates render", "nil pointer evaluating", &[3, 4]),
    ("extensions are known", "file extension", &[3, 4]),
    ("no hooks of Helm 2", "manifest is a crd-install hook", &[3]),
    ("no time of Helm 2", ".Release.Time has been removed", &[3]),
    ("no indent", "illegal indent", &[3, 4]),
    ("objects can be read", "templates/config.yaml: unable to parse YAML", &[3, 4]),
    ("names are right", "does not conform to Kubernetes naming", &[3, 4]),
    ("kinds are current", "is deprecated in", &[3, 4]),
    ("selectors are there", "must contain matchLabels", &[3, 4]),
    ("lists keep nothing", "within List objects are ignored", &[3, 4]),
    ("chart can be loaded again", "unable to load chart", &[3, 4]),
    ("subcharts are listed", "chart metadata is missing", &[3, 4]),
    ("dependencies are there", "chart directory is missing", &[3, 4]),
    ("crds are a directory", "crds/: not a directory", &[4]),
    ("crds can be read", "crds/widgets.yaml: unable to parse", &[4]),
    ("crds have their group", "apiVersion is not in", &[4]),
    ("crds have their kind", "object kind is not", &[4]),
];

/// The chart of a case: the first ones have one flaw each, the others several.
pub fn generate(case: usize) -> Files {
    let name = format!("demo-{case}");
    let mut files = chart(&name);
    let mut random = Random::for_case(11, "chart-tools", case as u64);
    let flaws = match FLAWS.get(case) {
        Some(flaw) => vec![*flaw],
        None => (0..random.between(0, 3)).map(|_| FLAWS[random.below(FLAWS.len())]).collect(),
    };
    for edit in flaws.into_iter().flatten() {
        edit.apply(&mut files);
    }
    files
}
