{{/* The name of the chart. */}}
{{- define "inference.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name that all objects start with: the release, unless it does not say what it is. */}}
{{- define "inference.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $full | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* A text that fits into 63 characters: a longer one keeps its start, and ends in a hash of the whole. */}}
{{- define "inference.short" -}}
{{- if gt (len .) 63 -}}
{{- printf "%s-%s" (trunc 54 . | trimSuffix "-") (sha256sum . | trunc 8) -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}

{{/* The name of a part. Takes root and part. */}}
{{- define "inference.part" -}}
{{- include "inference.short" (printf "%s-%s" (include "inference.fullname" .root) .part) -}}
{{- end -}}

{{- define "inference.gateway" -}}
{{- include "inference.part" (dict "root" . "part" "gateway") -}}
{{- end -}}

{{- define "inference.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "inference.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* Labels by which pods are found. Takes root and component. */}}
{{- define "inference.selector" -}}
app.kubernetes.io/component: {{ include "inference.short" .component }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/name: {{ include "inference.name" .root }}
{{- end -}}

{{/* Labels of an object. Takes root and, for a part, component. */}}
{{- define "inference.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Chart.AppVersion }}
app.kubernetes.io/version: {{ . | quote }}
{{- end }}
{{ if .component -}}
{{ include "inference.selector" . }}
{{- else -}}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/name: {{ include "inference.name" .root }}
{{- end }}
{{- end -}}
