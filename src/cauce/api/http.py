"""Media types, header names and encodings of the HTTP API."""

from __future__ import annotations

from typing import Literal

Compression = Literal["", "gzip", "zstd"]

CSV = "text/csv"
JSON = "application/json"
ARROW_STREAM = "application/vnd.apache.arrow.stream"
ARROW_FILE = "application/vnd.apache.arrow.file"
PARQUET = "application/vnd.apache.parquet"
NDJSON = "application/x-ndjson"
REFERENCE = "application/vnd.cauce.reference+json"
PROBLEM = "application/problem+json"
EVENT_STREAM = "text/event-stream"

COMPRESSIONS: dict[str, Compression] = {"": "", "identity": "", "gzip": "gzip", "zstd": "zstd"}
"""Content encodings of a part; only text may have one."""

AUTHORIZATION = "Authorization"
CONTENT_DIGEST = "Content-Digest"
FILE = "Cauce-File"
FIRST_LINE = "Cauce-First-Line"
COLUMNS = "Cauce-Columns"
PARTS = "Cauce-Parts"
COUNT = "Cauce-Count"
BYTES = "Cauce-Bytes"
COMPLETE = "Cauce-Complete"
RETRY_AFTER = "Retry-After"
