//! A cluster with many releases, made from one that helm installed.

use std::io::{Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use podium_sprig::encoding::{base64_decode, base64_encode};
use serde_json::{Value, json};

use crate::cluster::{self, Cluster, run};
use crate::request::Dialect;

/// How many releases there are.
pub const RELEASES: usize = 200;
/// How many revisions each has.
pub const REVISIONS: usize = 10;
/// Where they are.
pub const NAMESPACE: &str = "default";
/// So much that helm's packing cannot shrink is in the chart, for records of about 30 kB.
const FILLING: usize = 21_500;
/// So many Secrets are created by one file.
const PER_FILE: usize = 250;

/// Why there are no releases.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cluster does not do what it should.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    /// A file cannot be written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The record that helm made is none.
    #[error("the record of helm: {0}")]
    Record(String),
}

/// Fills a cluster; the size of a record in bytes, as its Secret holds it.
pub fn fill(cluster: &Cluster) -> Result<usize, Error> {
    let chart = cluster.folder().join("bench-chart");
    write_chart(&chart)?;
    run(cluster.helm(Dialect::Helm4).args(["install", "made", "-n", NAMESPACE]).arg(&chart))?;
    let made = "sh.helm.release.v1.made.v1";
    let text = run(cluster.kubectl().args(["get", "secret", made, "-o=jsonpath={.data.release}"]))?;
    let record = unpack(text.as_bytes())?;
    let secrets: Vec<Value> = (0..RELEASES)
        .flat_map(|release| (1..=REVISIONS).map(move |revision| (release, revision)))
        .map(|(release, revision)| secret(&record, &format!("release-{release:03}"), revision))
        .collect::<Result<_, _>>()?;
    let files = cluster.folder().join("bench-secrets");
    std::fs::create_dir_all(&files)?;
    for (number, items) in secrets.chunks(PER_FILE).enumerate() {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        std::fs::write(files.join(format!("{number}.json")), list.to_string())?;
    }
    run(cluster.kubectl().args(["create", "-f"]).arg(&files))?;
    Ok(text.len())
}

fn write_chart(folder: &Path) -> Result<(), std::io::Error> {
    std::fs::create_dir_all(folder.join("templates"))?;
    std::fs::write(
        folder.join("Chart.yaml"),
        "apiVersion: v2\nname: made\nversion: 1.0.0\nappVersion: '1'\n",
    )?;
    // Digits of a simple sequence: nothing repeats for long.
    let mut state = 1_u64;
    let mut filling = String::new();
    while filling.len() < FILLING {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        filling += &format!("{:012x}\n", state >> 16);
    }
    std::fs::write(folder.join("filling.txt"), filling)?;
    std::fs::write(folder.join("templates/maps.yaml"), MAPS)
}

const MAPS: &str = "{{- range until 10 }}
---
apiVersion: v1
kind: ConfigMap
metadata: { name: \"{{ $.Release.Name }}-{{ . }}\" }
data: { value: \"{{ . }}\" }
{{- end }}
";

fn unpack(text: &[u8]) -> Result<Value, Error> {
    let wrong = |at: usize| Error::Record(format!("no base64 at {at}"));
    let packed = base64_decode(&base64_decode(text).map_err(wrong)?).map_err(wrong)?;
    let mut plain = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut plain)?;
    serde_json::from_str(&plain).map_err(|error| Error::Record(error.to_string()))
}

fn secret(record: &Value, name: &str, revision: usize) -> Result<Value, Error> {
    let status = if revision == REVISIONS { "deployed" } else { "superseded" };
    let mut record = record.clone();
    let fields = record.as_object_mut().ok_or_else(|| Error::Record("it is no object".to_owned()))?;
    fields.insert("name".to_owned(), name.into());
    fields.insert("version".to_owned(), revision.into());
    if let Some(info) = fields.get_mut("info").and_then(Value::as_object_mut) {
        info.insert("status".to_owned(), status.into());
    }
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(record.to_string().as_bytes())?;
    let text = base64_encode(&base64_encode(&packer.finish()?));
    Ok(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {
            "name": format!("sh.helm.release.v1.{name}.v{revision}"),
            "namespace": NAMESPACE,
            "labels": {"owner": "helm", "name": name, "version": revision.to_string(), "status": status},
        },
        "data": {"release": String::from_utf8_lossy(&text)},
    }))
}

/// How many objects the chart has that is installed.
pub const FORTY: usize = 40;

/// Writes a chart of many objects of the usual kinds; where it is.
pub fn write_forty(folder: &Path) -> Result<std::path::PathBuf, Error> {
    let folder = folder.join("bench-forty");
    std::fs::create_dir_all(folder.join("templates"))?;
    std::fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: forty\nversion: 1.0.0\n")?;
    std::fs::write(folder.join("values.yaml"), "word: first\n")?;
    std::fs::write(folder.join("templates/all.yaml"), OBJECTS)?;
    Ok(folder)
}

/// Ten times four objects.
const OBJECTS: &str = "{{- range until 10 }}
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: \"{{ $.Release.Name }}-{{ . }}\" }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: \"{{ $.Release.Name }}-{{ . }}\" }
data: { word: \"{{ $.Values.word }}\" }
---
apiVersion: v1
kind: Service
metadata: { name: \"{{ $.Release.Name }}-{{ . }}\" }
spec: { clusterIP: None, selector: { app: \"{{ . }}\" }, ports: [{ name: http, port: 80 }] }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: \"{{ $.Release.Name }}-{{ . }}\", labels: { app: \"{{ . }}\" } }
spec:
  replicas: 2
  selector: { matchLabels: { app: \"{{ . }}\" } }
  template:
    metadata: { labels: { app: \"{{ . }}\" } }
    spec:
      containers:
        - name: main
          image: any
          env: [{ name: WORD, value: \"{{ $.Values.word }}\" }]
          ports: [{ name: http, containerPort: 80 }]
{{- end }}
";
