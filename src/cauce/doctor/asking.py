"""Asking doctors: for the state of the cluster, and to know of wishes at once. For commands and gateways."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

from cauce.doctor.desired import Wish, Wished
from cauce.doctor.home import Cluster
from cauce.doctor.messages import Incarnation
from cauce.doctor.post import Post, unbound
from cauce.doctor.view import Ask, Row, View

ENOUGH_S = 1.0
AGAIN_S = 0.1
SETTLE_S = 0.05
"""How long the leader is waited for when another doctor has answered."""


class Asker:
    def __init__(self, cluster: Cluster) -> None:
        self._addresses = list(cluster.doctors.values())
        self._post = Post(cluster.sealer(), "", Incarnation(), unbound(self._addresses))

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        self._post.close()

    def view(self, within_s: float = ENOUGH_S) -> View | None:
        """The whole cluster as its leader sees it, or another doctor where none leads; None if no doctor answers."""
        first = self._ask(self._addresses, 0, within_s)
        if first is None:
            return None
        view, address = first
        rows = list(view.rows)
        while len(rows) < view.total:
            more = self._ask([address], len(rows), within_s)
            if more is None or not more[0].rows:
                return None
            rows += more[0].rows
        return _with_rows(view, rows)

    def _ask(self, addresses: list[str], offset: int, within_s: float) -> tuple[View, str] | None:
        nonce = secrets.randbits(48)
        best: tuple[View, str] | None = None
        deadline = time.monotonic() + within_s
        again = 0.0
        while (now := time.monotonic()) < deadline:
            if now >= again:
                again = now + AGAIN_S
                for address in addresses:
                    self._post.send(address, Ask(nonce, offset))
            self._post.wait(min(AGAIN_S, deadline - now))
            for letter, sender in self._post.receive():
                answer = letter.body
                if not isinstance(answer, View) or answer.nonce != nonce:
                    continue
                if best is None or _rank(answer) > _rank(best[0]):
                    best, deadline = (answer, sender), min(deadline, now + SETTLE_S)
            if best is not None and (best[0].leads or len(addresses) == 1):
                return best
        return best

    def tell(self, wishes: Iterable[Wish]) -> None:
        listed = list(wishes)
        for address in self._addresses:
            self._post.send(address, Wished(listed))


def _rank(view: View) -> tuple[bool, int]:
    return view.leads, view.epoch


def _with_rows(view: View, rows: list[Row]) -> View:
    return View(
        view.nonce,
        view.doctor,
        view.leader,
        view.epoch,
        view.leads,
        view.running,
        view.watch,
        view.total,
        0,
        rows,
    )
