//! The benchmark charts, made by rule: the same bytes on every machine.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::bench::archive;
use crate::request::File;

/// A chart to measure.
pub struct BenchChart {
    /// Its name and folder.
    pub name: &'static str,
    /// What it is like.
    pub about: &'static str,
    /// Its files.
    pub files: Vec<File>,
}

/// All of them.
pub fn all() -> Vec<BenchChart> {
    vec![
        BenchChart { name: "small", about: "one service as a template of `helm create`", files: small() },
        BenchChart { name: "large", about: "300 templates, 3 300 tpl calls, 9 900 includes", files: large() },
        BenchChart { name: "stack", about: "dashboards and rules, megabytes of YAML", files: stack() },
        BenchChart {
            name: "umbrella-100",
            about: "100 subcharts as archives, five tpl calls in each",
            files: packed(umbrella(100)),
        },
        BenchChart {
            name: "umbrella-200",
            about: "200 subcharts as archives, five tpl calls in each",
            files: packed(umbrella(200)),
        },
        BenchChart {
            name: "unpacked-100",
            about: "100 subcharts as directories, five tpl calls in each",
            files: umbrella(100),
        },
    ]
}

/// Writes a chart below a folder and gives its path.
pub fn write(folder: &Path, chart: &BenchChart) -> std::io::Result<PathBuf> {
    let root = folder.join(chart.name);
    if root.exists() {
        std::fs::remove_dir_all(&root)?;
    }
    for file in &chart.files {
        let path = root.join(&file.name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, &file.data)?;
    }
    Ok(root)
}

const HELPERS: &str = r#"
{{- define "NAME.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- define "NAME.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}
{{- define "NAME.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- define "NAME.labels" -}}
helm.sh/chart: {{ include "NAME.chart" . }}
{{ include "NAME.selectorLabels" . }}
{{- if .Chart.AppVersion }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "NAME.selectorLabels" -}}
app.kubernetes.io/name: {{ include "NAME.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
"#;

const DEPLOYMENT: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "NAME.fullname" . }}
  labels:
    {{- include "NAME.labels" . | nindent 4 }}
spec:
  {{- if not .Values.autoscaling.enabled }}
  replicas: {{ .Values.replicaCount }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "NAME.selectorLabels" . | nindent 6 }}
  template:
    metadata:
      {{- with .Values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      labels:
        {{- include "NAME.labels" . | nindent 8 }}
    spec:
      serviceAccountName: {{ include "NAME.fullname" . }}
      securityContext:
        {{- toYaml .Values.podSecurityContext | nindent 8 }}
      containers:
        - name: {{ .Chart.Name }}
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          ports:
            - name: http
              containerPort: {{ .Values.service.port }}
              protocol: TCP
          {{- range $key, $value := .Values.env }}
          env-{{ $key }}: {{ $value | quote }}
          {{- end }}
          resources:
            {{- toYaml .Values.resources | nindent 12 }}
      {{- with .Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
"#;

const SERVICE: &str = r#"apiVersion: v1
kind: Service
metadata:
  name: {{ include "NAME.fullname" . }}
  labels:
    {{- include "NAME.labels" . | nindent 4 }}
spec:
  type: {{ .Values.service.type }}
  ports:
    - port: {{ .Values.service.port }}
      targetPort: http
  selector:
    {{- include "NAME.selectorLabels" . | nindent 4 }}
"#;

const ACCOUNT: &str = r#"apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "NAME.fullname" . }}
  labels:
    {{- include "NAME.labels" . | nindent 4 }}
"#;

const INGRESS: &str = r#"{{- if .Values.ingress.enabled -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ include "NAME.fullname" . }}
spec:
  rules:
    {{- range .Values.ingress.hosts }}
    - host: {{ .host | quote }}
      http:
        paths:
          {{- range .paths }}
          - path: {{ .path }}
            pathType: {{ .pathType }}
            backend:
              service:
                name: {{ include "NAME.fullname" $ }}
                port:
                  number: {{ $.Values.service.port }}
          {{- end }}
    {{- end }}
{{- end }}
"#;

const VALUES: &str = r#"replicaCount: 2
image:
  repository: registry.test/app
  pullPolicy: IfNotPresent
  tag: ""
nameOverride: ""
fullnameOverride: ""
serviceAccount:
  create: true
podAnnotations:
  prometheus.io/scrape: "true"
podSecurityContext:
  runAsNonRoot: true
  fsGroup: 2000
service:
  type: ClusterIP
  port: 8080
ingress:
  enabled: true
  hosts:
    - host: app.test
      paths:
        - path: /
          pathType: Prefix
        - path: /api
          pathType: Prefix
resources:
  limits: {cpu: 500m, memory: 256Mi}
  requests: {cpu: 100m, memory: 128Mi}
autoscaling:
  enabled: false
nodeSelector: {kubernetes.io/os: linux}
tolerations:
  - key: dedicated
    operator: Equal
    value: app
    effect: NoSchedule
env:
  LOG_LEVEL: info
  MODE: production
"#;

/// The files of a small service under a folder.
fn service(name: &str, below: &str) -> Vec<File> {
    let named = |text: &str| text.replace("NAME", name);
    let file = |path: &str, text: String| File::new(format!("{below}{path}"), text);
    vec![
        file("Chart.yaml", format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\nappVersion: \"1.16.0\"\n")),
        file("values.yaml", VALUES.to_owned()),
        file("templates/_helpers.tpl", named(HELPERS)),
        file("templates/deployment.yaml", named(DEPLOYMENT)),
        file("templates/service.yaml", named(SERVICE)),
        file("templates/serviceaccount.yaml", named(ACCOUNT)),
        file("templates/ingress.yaml", named(INGRESS)),
    ]
}

fn small() -> Vec<File> {
    let mut files = service("small", "");
    files.retain(|f| !f.name.ends_with("serviceaccount.yaml"));
    files.push(File::new("templates/NOTES.txt", "Visit {{ include \"small.fullname\" . }}.\n"));
    files
}

/// Many templates that render values as templates, as charts built on a common library do.
fn large() -> Vec<File> {
    let mut files = service("large", "");
    files.retain(|f| !f.name.starts_with("templates/") || f.name.ends_with("_helpers.tpl"));
    files.push(File::new(
        "templates/_render.tpl",
        r#"{{- define "large.render" -}}
{{- $value := typeIs "string" .value | ternary .value (.value | toYaml) }}
{{- if contains "{{" (toJson .value) }}
{{- tpl $value .context }}
{{- else }}
{{- $value }}
{{- end }}
{{- end }}
"#,
    ));
    let mut values = VALUES.to_owned();
    values.push_str("parts:\n");
    for i in 0..300 {
        let _ = writeln!(values, "  part{i}:");
        for k in 0..11 {
            let _ = writeln!(
                values,
                "    setting{k}: \"{{{{ .Release.Name }}}}-{i}-{k}-{{{{ .Values.image.repository }}}}\""
            );
        }
        let mut text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{{{ include \"large.fullname\" . }}}}-{i}\n  labels:\n    \
             {{{{- include \"large.labels\" . | nindent 4 }}}}\n{{{{- $part := .Values.parts.part{i} }}}}\ndata:\n"
        );
        for k in 0..11 {
            let _ = writeln!(
                text,
                "  setting{k}: {{{{ include \"large.render\" (dict \"value\" $part.setting{k} \"context\" $) | quote }}}}\n  \
                 owner{k}: {{{{ include \"large.name\" . }}}}.{{{{ include \"large.chart\" . }}}}"
            );
        }
        files.push(File::new(format!("templates/part-{i:03}.yaml"), text));
    }
    files.retain(|f| f.name != "values.yaml");
    files.push(File::new("values.yaml", values));
    files
}

/// Few templates with much text: dashboards as JSON and alert rules, whose braces are escaped.
fn stack() -> Vec<File> {
    let mut files = service("stack", "");
    for d in 0..45 {
        let mut text = format!(
            "{{{{- if and .Values.dashboards.enabled (not (has \"d{d}\" .Values.dashboards.without)) }}}}\napiVersion: v1\nkind: ConfigMap\n\
             metadata:\n  name: {{{{ printf \"%s-%s\" (include \"stack.fullname\" $) \"dashboard-{d}\" | trunc 63 | trimSuffix \"-\" }}}}\n  \
             labels:\n    {{{{ $.Values.dashboards.label }}}}: {{{{ ternary $.Values.dashboards.value \"1\" (not (empty $.Values.dashboards.value)) | quote }}}}\n\
             {{{{ include \"stack.labels\" $ | indent 4 }}}}\ndata:\n  dashboard-{d}.json: |-\n    {{{{`{{`}}}}\"panels\":[\n"
        );
        for p in 0..150 {
            let _ = writeln!(
                text,
                "    {{\"id\":{p},\"title\":\"Panel {p} of {d}\",\"type\":\"timeseries\",\"datasource\":{{\"type\":\"prometheus\",\"uid\":\"$datasource\"}},\
                 \"gridPos\":{{\"h\":8,\"w\":12,\"x\":{},\"y\":{}}},\"targets\":[{{\"expr\":\"sum(rate(http_requests_total{{job=\\\"app\\\",\
                 code=~\\\"5..\\\",instance=\\\"$instance\\\"}}[$__rate_interval])) by (pod, namespace)\",\"legendFormat\":\"{{{{`{{{{`}}}}pod{{{{`}}}}`}}}}\",\"refId\":\"A\"}},\
                 {{\"expr\":\"histogram_quantile(0.99, sum(rate(latency_bucket{{cluster=\\\"$cluster\\\"}}[5m])) by (le))\",\"refId\":\"B\"}}],\
                 \"fieldConfig\":{{\"defaults\":{{\"unit\":\"reqps\",\"custom\":{{\"fillOpacity\":10,\"lineWidth\":1}}}},\"overrides\":[]}}}},",
                p % 2 * 12,
                p * 8
            );
        }
        text.push_str("    ]}\n{{- end }}\n");
        files.push(File::new(format!("templates/dashboards/dashboard-{d:02}.yaml"), text));
    }
    for g in 0..30 {
        let mut text = format!(
            "{{{{- if .Values.rules.enabled }}}}\napiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: {{{{ include \"stack.fullname\" . }}}}-rules-{g}\n\
             spec:\n  groups:\n  - name: group-{g}\n    rules:\n"
        );
        for r in 0..18 {
            let _ = writeln!(
                text,
                "{{{{- if not (.Values.rules.disabled.Alert{r} | default false) }}}}\n    - alert: Alert{g}x{r}\n      annotations:\n        description: 'Pod {{{{`{{{{`}}}} $labels.pod {{{{`}}}}`}}}} is {{{{`{{{{`}}}} $value {{{{`}}}}`}}}}.'\n        \
                 runbook_url: {{{{ .Values.rules.runbook }}}}/alert{r}\n      expr: max_over_time(thing_{r}{{job=\"{{{{ .Release.Name }}}}\"}}[5m]) >= {r}\n      for: {{{{ dig \"Alert{r}\" \"for\" \"15m\" .Values.rules.custom }}}}\n      labels:\n        severity: warning\n        {{{{- with .Values.rules.labels }}}}\n        {{{{- toYaml . | nindent 8 }}}}\n        {{{{- end }}}}\n{{{{- end }}}}"
            );
        }
        text.push_str("{{- end }}\n");
        files.push(File::new(format!("templates/rules/rule-{g:02}.yaml"), text));
    }
    files.retain(|f| f.name != "values.yaml");
    files.push(File::new(
        "values.yaml",
        format!(
            "{VALUES}dashboards:\n  enabled: true\n  without: []\n  label: grafana_dashboard\n  value: \"1\"\nrules:\n  enabled: true\n  disabled: {{}}\n  custom: {{}}\n  labels: {{team: platform}}\n  runbook: https://runbooks.test\n"
        ),
    ));
    files
}

const CONFIG: &str = r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "NAME.fullname" . }}
  labels:
    {{- include "NAME.labels" . | nindent 4 }}
data:
  {{- range $name, $value := .Values.settings }}
  {{ $name }}: {{ tpl $value $ | quote }}
  {{- end }}
"#;

/// How many values a subchart of the umbrella renders as templates.
const SETTINGS: usize = 5;

/// Values that are templates themselves.
fn settings(seed: usize) -> String {
    let mut out = String::from("settings:\n");
    for k in 0..SETTINGS {
        let _ = writeln!(
            out,
            "  key{k}: \"{{{{ .Release.Name }}}}-{seed}-{k} in {{{{ .Values.global.region }}}}\""
        );
    }
    out
}

/// A parent that switches many services on by condition and shares globals with them.
fn umbrella(count: usize) -> Vec<File> {
    let mut chart = String::from("apiVersion: v2\nname: umbrella\nversion: 0.1.0\ndependencies:\n");
    let mut values = String::from("global:\n  region: eu\n  registry: registry.test\n");
    let mut files = Vec::new();
    for i in 0..count {
        let name = format!("svc{i}");
        let _ = write!(
            chart,
            "- name: {name}\n  version: \">=0.1.0\"\n  condition: {name}.enabled\n  tags: [all]\n"
        );
        let _ = write!(
            values,
            "{name}:\n  enabled: true\n  replicaCount: {}\n  env:\n    ORDER: \"{i}\"\n",
            i % 5 + 1
        );
        let mut child = service(&name, &format!("charts/{name}/"));
        child.retain(|f| !f.name.ends_with("serviceaccount.yaml") && !f.name.ends_with("ingress.yaml"));
        for file in child.iter_mut().filter(|f| f.name.ends_with("values.yaml")) {
            file.data.extend(settings(i).into_bytes());
        }
        child.push(File::new(format!("charts/{name}/templates/config.yaml"), CONFIG.replace("NAME", &name)));
        files.extend(child);
    }
    files.push(File::new("Chart.yaml", chart));
    files.push(File::new("values.yaml", values));
    files.push(File::new(
        "templates/all.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: all\ndata:\n  region: {{ .Values.global.region }}\n",
    ));
    files
}

/// The same chart as `helm dependency build` leaves it: subcharts are archives.
fn packed(files: Vec<File>) -> Vec<File> {
    let mut subcharts: BTreeMap<String, Vec<File>> = BTreeMap::new();
    let mut out = Vec::new();
    for file in files {
        match file.name.strip_prefix("charts/").and_then(|inner| Some((inner, inner.split_once('/')?.0))) {
            Some((inner, name)) => {
                let archive = format!("charts/{name}-0.1.0.tgz");
                subcharts.entry(archive).or_default().push(File::new(inner, file.data));
            }
            None => out.push(file),
        }
    }
    // Writing to memory does not fail.
    let pack = |(name, files): (String, Vec<File>)| Some(File::new(name, archive::pack(&files).ok()?));
    out.extend(subcharts.into_iter().filter_map(pack));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_large_chart_is_as_large_as_it_says() {
        let files = large();
        let parts = files.iter().filter(|f| f.name.starts_with("templates/part-")).count();
        let renders: usize = files
            .iter()
            .map(|f| String::from_utf8_lossy(&f.data).matches("include \"large.render\"").count())
            .sum();
        assert_eq!((parts, renders), (300, 3300));
    }

    #[test]
    fn archives_hold_what_the_directories_hold() {
        let names = |files: &[File]| files.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
        let (packed, unpacked) = (packed(umbrella(3)), umbrella(3));
        assert!(names(&packed).contains(&"charts/svc2-0.1.0.tgz".to_owned()), "{:?}", names(&packed));
        let load = |files: Vec<File>| {
            let files =
                files.into_iter().map(|f| podium_chart::files::File::new(f.name.as_str(), &f.data)).collect();
            let dialect = &podium_chart::dialect::HELM4;
            podium_chart::chart::load_files(files, dialect).map(|loaded| {
                let charts = loaded.chart.dependencies.clone();
                charts.iter().map(|c| (c.metadata.name.clone(), c.templates.clone())).collect::<Vec<_>>()
            })
        };
        let (packed, unpacked) = (load(packed).unwrap(), load(unpacked).unwrap());
        assert_eq!(packed.len(), 3);
        for ((name, mut templates), (other, mut others)) in packed.into_iter().zip(unpacked) {
            templates.sort_by(|a, b| a.name.cmp(&b.name));
            others.sort_by(|a, b| a.name.cmp(&b.name));
            assert_eq!((name, templates), (other, others));
        }
    }

    #[test]
    fn charts_are_the_same_every_time() {
        for (a, b) in all().iter().zip(all()) {
            assert_eq!(a.files, b.files);
        }
    }
}
