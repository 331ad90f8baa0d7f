{{/* The value of --doctors: a container is a host of its own. */}}
{{- define "cauce.doctors" -}}
{{- range $number := untilStep 1 (int (add1 .Values.doctors.replicas)) 1 -}}
{{- if gt $number 1 }},{{ end }}doctor-{{ $number }}@doctor-{{ $number }}=doctor-{{ $number }}.doctor:7700
{{- end -}}
{{- end -}}

{{/* Quoted addresses of the RabbitMQ nodes, separated by commas. */}}
{{- define "cauce.endpoints" -}}
{{- range $index, $each := .Values.broker.endpoints }}{{ if $index }}, {{ end }}{{ $each | quote }}{{ end -}}
{{- end -}}

{{/* A size such as 2Gi in bytes. */}}
{{- define "cauce.bytes" -}}
{{- $units := dict "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- mul (regexFind "^[0-9]+" . | int64) (get $units (regexFind "[A-Z]i$" .) | int64) -}}
{{- end -}}

{{/* Publishing is blocked above this share of a node's memory, and below this amount of free disk. */}}
{{- define "cauce.memoryLimit" -}}
{{- div (mul (include "cauce.bytes" .Values.broker.memory | int64) 60) 100 -}}
{{- end -}}
{{- define "cauce.diskLimit" -}}
{{- max (div (include "cauce.bytes" .Values.broker.storage | int64) 20) 536870912 -}}
{{- end -}}

{{/* The name has a digest of the settings: a change replaces the pods that read them. */}}
{{- define "cauce.settingsName" -}}
rabbitmq-{{ include "cauce.settings" . | sha256sum | trunc 10 }}
{{- end -}}
