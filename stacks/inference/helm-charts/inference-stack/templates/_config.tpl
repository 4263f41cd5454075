{{/* A mapping with its keys in snake case and without nulls, as YAML. What is below extra is taken as it is written. */}}
{{- define "inference.snake" -}}
{{- $out := dict -}}
{{- range $key, $value := omit . "extra" -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $_ := set $out (snakecase $key) $value -}}
{{- end -}}
{{- end -}}
{{- toYaml (mergeOverwrite $out (deepCopy (.extra | default dict))) -}}
{{- end -}}

{{- define "inference.internalPort" -}}
{{- .Values.gateway.config.internalPort | default 3005 | int -}}
{{- end -}}

{{/* The file of the gateway. */}}
{{- define "inference.gatewayConfig" -}}
{{- $server := include "inference.snake" .Values.gateway.config | fromYaml -}}
{{- $_ := set $server "internal_port" (include "inference.internalPort" . | int) -}}
{{- dict "takeoff" (dict "server_config" $server "readers_config" dict) | toYaml -}}
{{- end -}}

{{/* The file of an application. Takes root, name and app, which is merged already. */}}
{{- define "inference.readerConfig" -}}
{{- $reader := include "inference.snake" .app.readerConfig | fromYaml -}}
{{- if not (hasKey $reader "internal_gateway_ip") -}}
{{- $_ := set $reader "internal_gateway_ip" (include "inference.gateway" .root) -}}
{{- end -}}
{{- $server := dict "internal_port" (include "inference.internalPort" .root | int) -}}
{{- dict "takeoff" (dict "server_config" $server "readers_config" (dict .name $reader)) | toYaml -}}
{{- end -}}

{{/* Lists of variables as one, as YAML: of two with one name the first counts. */}}
{{- define "inference.env" -}}
{{- $seen := dict -}}
{{- $all := list -}}
{{- range $variable := concat list . | compact -}}
{{- if not (hasKey $seen $variable.name) -}}
{{- $_ := set $seen $variable.name true -}}
{{- $all = append $all $variable -}}
{{- end -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}

{{/* Variables of whatever connects to the gateway. */}}
{{- define "inference.readerEnv" -}}
- name: TAKEOFF_ADD_READER_ID_SUFFIX
  value: "true"
- name: TAKEOFF_HEADLESS
  value: "true"
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end -}}

{{/* An application over the template, as YAML. Takes root and own, what the application says. */}}
{{- define "inference.application" -}}
{{- $template := deepCopy .root.Values.applicationTemplate -}}
{{- $own := deepCopy (.own | default dict) -}}
{{- $models := $own.modelsVolume | default $template.modelsVolume | default (dict "emptyDir" dict) -}}
{{- if not $models.name -}}
{{- $models = mergeOverwrite (dict "name" "models") (omit $models "name") -}}
{{- end -}}
{{- $env := concat ($own.env | default list) ($template.env | default list) -}}
{{- $app := mergeOverwrite $template $own -}}
{{- $_ := set $app "modelsVolume" $models -}}
{{- $_ := set $app "env" ($env | default list) -}}
{{- toYaml $app -}}
{{- end -}}
