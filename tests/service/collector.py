"""A collector that speaks OpenTelemetry's own protocol (OTLP over HTTP) on loopback, and keeps what it receives."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector(ThreadingHTTPServer):
    """Each entry has the service that sent it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.spans: list[tuple[str, Span]] = []
        self.metrics: list[tuple[str, Metric]] = []
        self.logs: list[tuple[str, LogRecord]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def add_traces(self, body: bytes) -> None:
        for each in ExportTraceServiceRequest.FromString(body).resource_spans:
            name = service_of(each.resource)
            self.spans += [(name, span) for scope in each.scope_spans for span in scope.spans]

    def add_metrics(self, body: bytes) -> None:
        for each in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            name = service_of(each.resource)
            self.metrics += [(name, metric) for scope in each.scope_metrics for metric in scope.metrics]

    def add_logs(self, body: bytes) -> None:
        for each in ExportLogsServiceRequest.FromString(body).resource_logs:
            name = service_of(each.resource)
            self.logs += [(name, record) for scope in each.scope_logs for record in scope.log_records]


def service_of(resource: Resource) -> str:
    return next(each.value.string_value for each in resource.attributes if each.key == "service.name")


class Taking(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert isinstance(self.server, Collector)
        taking = {
            "/v1/traces": self.server.add_traces,
            "/v1/metrics": self.server.add_metrics,
            "/v1/logs": self.server.add_logs,
        }
        taking[self.path](body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextmanager
def collecting() -> Iterator[Collector]:
    with Collector() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
