"""Client of the doctors, for commands and gateways: queries the cluster status and sends new desired-state entries."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

import msgspec

from cauce.doctor.launch.service_dir import Cluster
from cauce.doctor.messaging.udp import UdpEndpoint, client_socket
from cauce.doctor.model.desired_state import DesiredEntry, DesiredUpdate
from cauce.doctor.model.messages import Generation
from cauce.doctor.model.status import ClusterStatus, StatusQuery

ANSWER_S = 1.0
RESEND_S = 0.1
SEND_S = 0.3
"""Timeout for a doctor that does not answer. It reads the entries from the fabric instead."""
SETTLE_S = 0.05
"""How long to wait for the leader after another doctor has answered."""


class QueryClient:
    """Query client of the doctors of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._addresses = list(cluster.doctors.values())
        self._endpoint = UdpEndpoint(cluster.authenticator(), "", Generation(), client_socket(self._addresses))

    def __enter__(self) -> QueryClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._endpoint.close()

    def status(self, within_s: float = ANSWER_S) -> ClusterStatus | None:
        """The cluster status as the leader sees it, or any doctor if there is no leader; None if no doctor answers."""
        first = self._query(self._addresses, 0, within_s)
        if first is None:
            return None
        status, address = first
        rows = list(status.rows)
        while len(rows) < status.total:
            more = self._query([address], len(rows), within_s)
            if more is None or not more[0].rows:
                return None
            rows += more[0].rows
        return msgspec.structs.replace(status, offset=0, rows=rows)

    def _query(self, addresses: list[str], offset: int, within_s: float) -> tuple[ClusterStatus, str] | None:
        nonce = secrets.randbits(48)
        best: tuple[ClusterStatus, str] | None = None
        deadline = time.monotonic() + within_s
        again = 0.0
        while (now := time.monotonic()) < deadline:
            if now >= again:
                again = now + RESEND_S
                for address in addresses:
                    self._endpoint.send(address, StatusQuery(nonce, offset))
            self._endpoint.wait(min(RESEND_S, deadline - now))
            for envelope, sender in self._endpoint.receive():
                answer = envelope.body
                if not isinstance(answer, ClusterStatus) or answer.nonce != nonce:
                    continue
                if best is None or _rank(answer) > _rank(best[0]):
                    best, deadline = (answer, sender), min(deadline, now + SETTLE_S)
            if best is not None and (best[0].leads or len(addresses) == 1):
                return best
        return best

    def send(self, entries: Iterable[DesiredEntry]) -> None:
        """Sends entries to all doctors, best effort."""
        listed = list(entries)
        for address in self._addresses:
            self._endpoint.send(address, DesiredUpdate(listed))
        self._endpoint.introduce(SEND_S)


def _rank(status: ClusterStatus) -> tuple[bool, int]:
    return status.leads, status.epoch
