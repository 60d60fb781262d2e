{{- define "weir.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "weir.selector" -}}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "weir.labels" -}}
{{ include "weir.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "weir.pod" -}}
metadata:
  labels:
    {{- include "weir.selector" . | nindent 4 }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "weir.name" . }}
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: {{ add .Values.drainDelaySeconds .Values.drainTimeoutSeconds 15 }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: weir
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      env:
        - {name: WEIR_STORE, value: {{ .Values.store.kind | quote }}}
        # A new volume is not empty: it has lost+found.
        - {name: WEIR_DATA, value: /data/store}
        - {name: WEIR_DRAIN_DELAY_SECS, value: {{ .Values.drainDelaySeconds | quote }}}
        - {name: WEIR_DRAIN_TIMEOUT_SECS, value: {{ .Values.drainTimeoutSeconds | quote }}}
        {{- if eq .Values.store.kind "dynamodb" }}
        - {name: WEIR_REGION, value: {{ required "store.region is required with DynamoDB" .Values.store.region | quote }}}
        - {name: WEIR_TABLE_PREFIX, value: {{ .Values.store.tablePrefix | quote }}}
        - {name: WEIR_SIGNING_KEY_FILE, value: /secrets/signing-key}
        - {name: WEIR_CURSOR_KEY_FILE, value: /secrets/cursor-key}
        {{- end }}
        {{- if .Values.existingSecret }}
        - {name: WEIR_ADMIN_KEY_FILE, value: /secrets/admin-key}
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        {{- if not (kindIs "string" $value) }}
        {{- fail (printf "settings.%s must be in quotes: Helm writes large numbers as 4.29e+09" $name) }}
        {{- end }}
        - {name: {{ $name }}, value: {{ $value | quote }}}
        {{- end }}
      ports:
        - {name: http, containerPort: 8080}
      # A store that replays its log after a power cut takes a while.
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 2
        failureThreshold: 300
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        timeoutSeconds: 3
        failureThreshold: 6
      # A store that fails does so for all pods: without any pod nobody could read, delete, or acquire what on_unavailable
      # allows. Alerts watch the store.
      readinessProbe:
        httpGet: {path: "/readyz?store=ignore", port: http}
        periodSeconds: 2
        timeoutSeconds: 3
        failureThreshold: 2
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /data}
        {{- if .Values.existingSecret }}
        - {name: secrets, mountPath: /secrets, readOnly: true}
        {{- end }}
  volumes:
    {{- if .Values.existingSecret }}
    - name: secrets
      secret: {secretName: {{ .Values.existingSecret }}, defaultMode: 0440}
    {{- end }}
    {{- if eq .Values.store.kind "dynamodb" }}
    - {name: data, emptyDir: {}}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
