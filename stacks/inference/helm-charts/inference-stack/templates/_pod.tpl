{{/* An image. Takes image and tag, which counts if the image has none. */}}
{{- define "inference.image" -}}
image: {{ printf "%s:%s" .image.repository (.image.tag | default .tag | toString) | quote }}
imagePullPolicy: {{ .image.pullPolicy | default "IfNotPresent" }}
{{- end -}}

{{/* What all pods have. Takes root, own (its values), and config, the text of its file. */}}
{{- define "inference.podMetadata" -}}
annotations:
  checksum/config: {{ sha256sum .config }}
  {{- with .own.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
labels:
  {{- /* Not the versions: another chart that makes the same pods should not restart them. */}}
  {{- include "inference.selector" . | nindent 2 }}
  {{- with .own.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Where a pod runs and as whom. Takes root and own. */}}
{{- define "inference.podPlace" -}}
serviceAccountName: {{ include "inference.serviceAccount" .root }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $field, $value := dict "securityContext" .own.podSecurityContext "nodeSelector" .own.nodeSelector "tolerations" .own.tolerations "affinity" .own.affinity }}
{{- with $value }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What a container is allowed and asked. Takes own, and optionally liveness, a probe for want of another. */}}
{{- define "inference.containerRules" -}}
{{- range $field, $value := dict "securityContext" .own.securityContext "resources" .own.resources "livenessProbe" (.own.livenessProbe | default .liveness) "readinessProbe" .own.readinessProbe "startupProbe" .own.startupProbe }}
{{- with $value }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What an application has beside its configuration. Takes its values. */}}
{{- define "inference.readerMounts" -}}
- name: dshm
  mountPath: /dev/shm
- name: {{ .modelsVolume.name }}
  mountPath: /code/models
{{- with .volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}
