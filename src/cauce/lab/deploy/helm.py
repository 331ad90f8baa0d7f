"""The files of a Helm chart: the templates of the manifests for Kubernetes, with Helm's expressions as their values.

So a chart and `kubectl apply -k` give the same objects. Secrets are not part of the chart: it names those that exist.
"""

from __future__ import annotations

from cauce import __version__
from cauce.lab.deploy import broker, kubernetes
from cauce.lab.deploy.certificates import Certificates
from cauce.lab.deploy.plan import Plan, values
from cauce.lab.deploy.rendering import names, rendered, template
from cauce.lab.deploy.secret import Secrets
from cauce.lab.deploy.sizes import quantity
from cauce.lab.deploy.writing import File

CHART = "chart"
MANIFESTS = ("gateways.yaml", "workers.yaml", "doctors.yaml", "network.yaml")
EXPRESSIONS: dict[str, object] = {
    "image": "{{ .Values.image }}",
    "broker_image": "{{ .Values.broker.image }}",
    "workers": "{{ .Values.workers.replicas }}",
    "gateways": "{{ .Values.gateways.replicas }}",
    "doctor_count": "{{ .Values.doctors.replicas }}",
    "worker_memory": "{{ .Values.workers.memory }}",
    "gateway_memory": "{{ .Values.gateways.memory }}",
    "doctor_memory": "{{ .Values.doctors.memory }}",
    "broker_memory": "{{ .Values.broker.memory }}",
    "storage": "{{ .Values.broker.storage }}",
    "doctors": '{{ include "cauce.doctors" . }}',
    "broker_endpoints": '{{ include "cauce.endpoints" . }}',
    "broker_tls": broker.TLS_FOLDER,
    "cauce_secret": "{{ .Values.secrets.cauce }}",
    "tokens_secret": "{{ .Values.secrets.tokens }}",
    "broker_secret": "{{ .Values.secrets.broker }}",
    "tls_secret": "{{ .Values.secrets.tls }}",
    # A change of the settings replaces the pods that read them.
    "broker_settings": '{{ include "cauce.settingsName" . }}',
}
"""The values of the placeholders of the manifests."""
_LIMITS = {
    "memory_limit": '{{ include "cauce.memoryLimit" . }}',
    "disk_limit": '{{ include "cauce.diskLimit" . }}',
}


def files(plan: Plan, secrets: Secrets, certificates: Certificates) -> list[File]:
    given = {**values(plan, quantity), **_constants(plan)}
    # Those of Helm's own language have no placeholders.
    fixed = {name for name in names("helm") if name.startswith(f"{CHART}/templates/")}
    own = [
        File(name, template(f"helm/{name}") if name in fixed else rendered(f"helm/{name}", given))
        for name in names("helm")
    ]
    return [*own, *_manifests(plan), *kubernetes.secret_files(plan, secrets, certificates)]


def _constants(plan: Plan) -> dict[str, object]:
    hosts = [f'"{each}"' for each in broker.endpoints(kubernetes.hosts(plan))]
    return {"version": __version__, "endpoints": ", ".join(hosts)}


def _manifests(plan: Plan) -> list[File]:
    given = {**values(plan, quantity), **EXPRESSIONS}
    found = {name: rendered(f"kubernetes/{name}", given) for name in MANIFESTS}
    found["broker.yaml"] = _if_broker(rendered("statefulset/broker.yaml", given))
    settings = broker.settings(plan, broker.BY_ORDINAL, _LIMITS)
    found["_settings.tpl"] = f'{{{{- define "cauce.settings" -}}}}\n{settings}{{{{- end -}}}}\n'
    plugins = template("statefulset/enabled_plugins").strip()
    found["settings.yaml"] = _if_broker(_SETTINGS.replace("PLUGINS", plugins))
    return [File(f"{CHART}/templates/{name}", text) for name, text in found.items()]


def _if_broker(text: str) -> str:
    return f"{{{{- if .Values.broker.enabled }}}}\n{text.rstrip()}\n{{{{- end }}}}\n"


_SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "cauce.settingsName" . }}
  labels:
    app.kubernetes.io/name: cauce
    app.kubernetes.io/component: rabbitmq
data:
  enabled_plugins: |
    PLUGINS
  rabbitmq.conf: |
{{ include "cauce.settings" . | indent 4 }}
"""
