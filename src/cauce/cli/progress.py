"""Progress bars: one for each table that is read, by bytes."""

from __future__ import annotations

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)

from cauce.cli.output import errors


class Bars:
    """Watches a run on the terminal; on anything else than a terminal it draws nothing."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", justify="left"),
            BarColumn(bar_width=32),
            DownloadColumn(),
            TransferSpeedColumn(),
            TextColumn("{task.fields[rows]:>13,} rows"),
            TimeElapsedColumn(),
            console=errors,
            disable=not errors.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self.rows: dict[str, int] = {}
        self.bytes = 0

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._progress.stop()

    def scanning(self, table: str, total_bytes: int) -> None:
        self.rows[table] = 0
        self._tasks[table] = self._progress.add_task(table, total=total_bytes, rows=0)

    def scanned(self, table: str, part_bytes: int, rows: int) -> None:
        self.rows[table] += rows
        self.bytes += part_bytes
        self._progress.update(self._tasks[table], advance=part_bytes, rows=self.rows[table])
