{{/* The labels of everything that this chart makes. */}}
{{- define "catalog.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The account of older lifecycle managers. */}}
{{- define "catalog.account" -}}
{{- default (printf "%s-installer" .Release.Name | trunc 63 | trimSuffix "-") .Values.serviceAccount.name }}
{{- end }}

{{/* The extensions, as JSON: clusterExtension.versions with the entries of clusterExtensions laid over them. */}}
{{- define "catalog.extensions" -}}
{{- $all := list }}
{{- if .Values.clusterExtension.enabled }}
{{- $all = .Values.clusterExtension.versions }}
{{- end }}
{{- $over := .Values.clusterExtensions | default list }}
{{- $out := list }}
{{- range $at := until (int (max (len $all) (len $over))) }}
{{- $entry := dict }}
{{- if lt $at (len $all) }}
{{- $entry = deepCopy (index $all $at) }}
{{- end }}
{{- if lt $at (len $over) }}
{{- $entry = mergeOverwrite $entry (deepCopy (index $over $at | default dict)) }}
{{- end }}
{{- if $entry }}
{{- if not $entry.name }}
{{- fail (printf "entry %d of the extensions has no name: an entry of clusterExtensions changes the entry of clusterExtension.versions at the same place, which has to be there and clusterExtension.enabled has to be true, or is a whole one with name and spec" $at) }}
{{- end }}
{{- $out = append $out $entry }}
{{- end }}
{{- end }}
{{- toJson $out }}
{{- end }}
