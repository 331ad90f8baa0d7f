"""Reduces the number of stages: merges passes over the same table, and fuses folds that need no shuffle.

Never changes a result. Two stages may be fused only if neither depends on the other through a third stage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from cauce.errors import PlanError
from cauce.plan.nodes import Node, Receive
from cauce.plan.physical import Edge, Stage


def merge_passes(stages: list[Stage]) -> list[Stage]:
    """Merges passes over the same table wherever neither depends on the other's output."""
    return _merge_independent(_merge_rounds(_one_per_edge(stages)))


def _one_per_edge(stages: list[Stage]) -> list[Stage]:
    """Each pass over a table as one per output, since these may depend on different inputs."""
    return [
        part
        for stage in stages
        for part in ([replace(stage, sends=(edge,)) for edge in stage.sends] if stage.table else [stage])
    ]


def _merge_rounds(stages: list[Stage]) -> list[Stage]:
    """Merges passes over a table that are in the same round. In a round, each table is read once, in a fixed order of
    the tables; a pass that needs the output of a later table, or of its own, is in a later round."""
    upstream = _sources_above(stages)
    place = {table: number for number, table in enumerate(_table_order(stages, upstream))}
    rounds: dict[int, int] = {}
    for stage in in_order(stages):
        if stage.table is not None:
            own = place[stage.table.name]
            above = [(rounds[id(each)], place[_table(each)] >= own) for each in upstream[id(stage)]]
            rounds[id(stage)] = max((number + later for number, later in above), default=0)
    # Each in the place of its first pass; a stage that reads no table stays by itself.
    merged: dict[tuple[str, int], list[Stage]] = {}
    for stage in stages:
        key = (stage.table.name, rounds[id(stage)]) if stage.table is not None else ("", id(stage))
        merged.setdefault(key, []).append(stage)
    return [_union(each) for each in merged.values()]


def _union(passes: list[Stage]) -> Stage:
    sends = tuple(edge for each in passes for edge in each.sends)
    return replace(passes[0], sends=sends, level=max(each.level for each in passes))


def _table(stage: Stage) -> str:
    assert stage.table is not None
    return stage.table.name


def _sources_above(stages: list[Stage]) -> dict[int, list[Stage]]:
    """The passes over tables that each stage depends on, directly or not."""
    sender = {edge.number: stage for stage in stages for edge in stage.sends}
    found: dict[int, dict[int, Stage]] = {}
    for stage in in_order(stages):
        above: dict[int, Stage] = {}
        for before in (sender[number] for number in stage.receives):
            above |= found[id(before)]
            if before.table is not None:
                above[id(before)] = before
        found[id(stage)] = above
    return {key: list(above.values()) for key, above in found.items()}


def _table_order(stages: list[Stage], upstream: dict[int, list[Stage]]) -> list[str]:
    """The tables, each after most of those that it depends on."""
    passes = [stage for stage in stages if stage.table is not None]
    tables = list(dict.fromkeys(map(_table, passes)))
    counts = Counter((_table(above), _table(stage)) for stage in passes for above in upstream[id(stage)])
    fed_by = {t: sum(counts[other, t] > counts[t, other] for other in tables) for t in tables}
    return sorted(tables, key=lambda table: fed_by[table])


def _merge_independent(stages: list[Stage]) -> list[Stage]:
    merged = list(stages)
    # Stages are visited in order: each merge may rule out later ones.
    for table in dict.fromkeys(stage.table.name for stage in stages if stage.table):
        passes = sorted((s for s in merged if s.table and s.table.name == table), key=lambda s: -s.level)
        kept: list[Stage] = []
        for stage in passes:
            host = next((h for h in kept if not _reaches(merged, h, stage) and not _reaches(merged, stage, h)), None)
            if host is None:
                kept.append(stage)
                continue
            union = _union([host, stage])
            kept[kept.index(host)] = union
            merged = [union if each is host else each for each in merged if each is not stage]
    return merged


def _reaches(stages: list[Stage], start: Stage, goal: Stage) -> bool:
    sent = {edge.number for edge in start.sends}
    for stage in stages:
        if stage is not start and sent & set(stage.receives) and (stage is goal or _reaches(stages, stage, goal)):
            return True
    return False


def in_order(stages: list[Stage]) -> list[Stage]:
    """Topological order: every stage after those it reads from, otherwise in planned order."""
    waiting = sorted(stages, key=lambda stage: (stage.result is not None, stage.level))
    done: list[Stage] = []
    sent: set[int] = set()
    while waiting:
        ready = next((stage for stage in waiting if set(stage.receives) <= sent), None)
        if ready is None:
            raise PlanError("the stages depend on one another in a cycle")
        waiting.remove(ready)
        done.append(ready)
        sent |= {edge.number for edge in ready.sends}
    return done


def fuse_folds(stages: list[Stage]) -> list[Stage]:
    """Removes edges that keep every row in its partition: the reading stage computes those rows itself."""
    changed = True
    while changed:
        changed = False
        for sender in stages:
            for edge in sender.sends:
                fused = _fused_over(stages, sender, edge)
                if fused is not None:
                    stages = fused
                    changed = True
                    break
            if changed:
                break
    return stages


def _fused_over(stages: list[Stage], sender: Stage, edge: Edge) -> list[Stage] | None:
    """The stages without this edge and all others between the same two stages; None if it cannot be removed."""
    reader = next((stage for stage in stages if edge.number in stage.receives), None)
    if reader is None:
        return None
    between = [each for each in sender.sends if each.number in reader.receives]
    if not all(_can_go(stages, each) for each in between):
        return None
    others = [stage for stage in stages if stage is not sender and stage is not reader]
    by_third = any(_feeds(sender, each) and _reaches(stages, each, reader) for each in others)
    kept = tuple(each for each in sender.sends if each not in between)
    # An answer stage has no output edges, so a sender with other readers keeps its own stage.
    if sender.partitions != reader.partitions or by_third or (kept and reader.result):
        return None
    received = tuple(replace(each, node=_without(each.node, between)) for each in reader.sends)
    result = reader.result and replace(reader.result, node=_without(reader.result.node, between))
    name = f"{sender.name}, {reader.name}" if kept else reader.name
    fused = replace(reader, name=name, sends=kept + received, result=result)
    return [fused if each is reader else each for each in stages if each is not sender]


def _can_go(stages: list[Stage], edge: Edge) -> bool:
    return edge.stays and edge.merge is None and sum(edge.number in stage.receives for stage in stages) == 1


def _feeds(sender: Stage, reader: Stage) -> bool:
    return bool({edge.number for edge in sender.sends} & set(reader.receives))


def _without(node: Node, edges: Sequence[Edge]) -> Node:
    """The node with each `Receive` of these edges replaced by the edge's own node."""
    if isinstance(node, Receive):
        return next((edge.node for edge in edges if node.edge == edge.number), node)
    changed = {
        name: _without(value, edges) for name in node.field_names() if isinstance(value := getattr(node, name), Node)
    }
    return replace(node, **changed) if changed else node
