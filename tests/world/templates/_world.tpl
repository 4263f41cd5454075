{{- define "hello" }}hello{{ end }}
{{- define "echo" }}[{{ . }}]{{ end }}
{{- define "yaml" }}
a: {{ .Values.s }}
b:
  - {{ .Values.n1 }}
{{- end }}
{{- define "hole" }}{{ .Values.missing }}{{ end }}
{{- define "broken" }}{{ .Values.missing.deeper }}{{ end }}
{{- define "nested" }}<{{ template "echo" .Values.s }}{{ include "hello" . | upper }}>{{ end }}
{{- define "count" }}{{ if gt (int .) 0 }}{{ . }},{{ include "count" (sub (int .) 1) }}{{ end }}{{ end }}
