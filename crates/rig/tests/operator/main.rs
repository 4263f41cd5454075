//! Stories of `podium operator run` on a control plane: each is a user's path from beginning to end.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "helpers of tests")]

mod drift;
mod life;
mod masks;
mod originals;
mod owners;
mod secure;
mod several;
mod story;
mod trouble;
mod values;

/// A ConfigMap and a Deployment whose pods use it.
const SMALL: (&str, &str) = ("templates/small.yaml", SMALL_TEXT);
const SMALL_TEXT: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {color: "{{ .Values.color }}", release: "{{ .Release.Namespace }}/{{ .Release.Name }}"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata:
      labels: {app: "{{ .Release.Name }}"}
      annotations: {{ .Values.podAnnotations | toJson }}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "{{ .Values.image }}", envFrom: [{configMapRef: {name: "{{ .Release.Name }}"}}]}]
"#;
const SMALL_VALUES: (&str, &str) =
    ("values.yaml", "color: red\nreplicas: 1\nimage: app:1\npodAnnotations: {}\n");
/// A chart that makes one ConfigMap.
const TINY: (&str, &str) = ("templates/tiny.yaml", TINY_TEXT);
const TINY_TEXT: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {color: "{{ .Values.color }}"}
"#;
const TINY_VALUES: (&str, &str) = ("values.yaml", "color: red\n");
