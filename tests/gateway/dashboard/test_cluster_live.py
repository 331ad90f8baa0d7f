"""Process logs as shown on the cluster page."""

from __future__ import annotations

from pathlib import Path

from cauce.gateway.dashboard.cluster_live import LOG_BYTES, _end_of


def test_the_end_of_a_long_log_starts_with_a_whole_line(tmp_path: Path) -> None:
    log = tmp_path / "worker-1.log"
    assert _end_of(log) == ""
    log.write_text("short\n")
    assert _end_of(log) == "short\n"
    lines = [f"line {number}\n" for number in range(20_000)]
    log.write_text("".join(lines))
    end = _end_of(log)
    assert len(end) <= LOG_BYTES
    assert "".join(lines).endswith(end)
    assert end.startswith("line ")
