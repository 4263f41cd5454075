{{/* The name of everything in this release. */}}
{{- define "hello.name" -}}
{{ printf "%s-%s" .Release.Name .Values.model.name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "hello.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}
