{{- define "trustrank.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "trustrank.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "trustrank.labels" -}}
{{ include "trustrank.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "trustrank.graceSeconds" -}}
{{- $drainMs := ternary (int .Values.settings.drain_ms) 5000 (hasKey .Values.settings "drain_ms") -}}
{{- add (int .Values.shutdown.preStopSeconds) (div (add $drainMs 999) 1000) 15 -}}
{{- end -}}

{{- define "trustrank.log" -}}
{{ include "trustrank.name" . }}-log
{{- end -}}

{{- define "trustrank.logSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-log
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "trustrank.logLabels" -}}
{{ include "trustrank.logSelector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* Of the pod: apart from pods of the same labels, on other machines. */ -}}
{{- define "trustrank.apart" -}}
labelSelector:
  matchLabels:
    {{- include "trustrank.selector" . | nindent 4 }}
topologyKey: kubernetes.io/hostname
{{- end -}}

{{- /* Environment of a node of a cluster. */ -}}
{{- define "trustrank.clusterEnv" -}}
{{- $log := include "trustrank.log" . -}}
{{- $servers := list -}}
{{- $monitors := list -}}
{{- range $index := until 3 -}}
{{- $servers = append $servers (printf "%s-%d.%s:4222" $log $index $log) -}}
{{- $monitors = append $monitors (printf "http://%s-%d.%s:8222" $log $index $log) -}}
{{- end -}}
- name: TRUSTRANK_CLUSTER
  value: {{ join "," $servers }}
- name: TRUSTRANK_CLUSTER_MONITOR
  value: {{ join "," $monitors }}
- name: TRUSTRANK_CLUSTER_NODE
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: TRUSTRANK_CLUSTER_STREAM_GB
  value: {{ .Values.cluster.streamGb | quote }}
- name: TRUSTRANK_CLUSTER_CA
  value: /run/secrets/log/ca.crt
- name: TRUSTRANK_CLUSTER_CERT
  value: /run/secrets/log/tls.crt
- name: TRUSTRANK_CLUSTER_KEY
  value: /run/secrets/log/tls.key
{{- end -}}

{{- /* Rule of a network policy: names are looked up. */ -}}
{{- define "trustrank.names" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- end -}}
