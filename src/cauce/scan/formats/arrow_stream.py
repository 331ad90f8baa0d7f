"""The stream format of Arrow IPC, for uploads."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from cauce.api import http
from cauce.scan.formats.format import Format
from cauce.scan.formats.frame_block import FrameBlock, block_of_table
from cauce.scan.formats.parquet import FIRST_LINE
from cauce.scan.formats.upload_check import UploadCheck
from cauce.scan.headers import headers_in
from cauce.scan.parts import Buffer, Part
from cauce.scan.tables import TableSpec


class ArrowStream(Format):
    name = "arrow"
    media_type = http.ARROW_STREAM

    def block(self, part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer) -> FrameBlock:
        with pa.ipc.open_stream(part.data) as stream:
            table = stream.read_all().select(headers_in(stream.schema.names, spec, columns))
        return block_of_table(table, spec, part.file.name, part.first_line)

    def checked(self, part: Part, check: UploadCheck) -> Part:
        from cauce.scan.formats.columnar_validation import check_arrow

        data = part.data or b""
        check.header(part.file.name, check_arrow(data, check.needed, check.bounds))
        return replace(part, first_line=part.first_line or FIRST_LINE, unpacked_bytes=len(data))
