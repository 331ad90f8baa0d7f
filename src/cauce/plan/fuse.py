"""Fewer stages with the same outcome: passes over one table become one, folds whose rows stay put become one.

Two stages may be fused only if neither waits for the other by a third.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from cauce.errors import PlanError
from cauce.plan.nodes import Node, Receive
from cauce.plan.physical import Edge, Stage


def merge_passes(stages: list[Stage]) -> list[Stage]:
    """Passes over one table become one wherever neither needs the other's outcome."""
    merged = list(stages)
    # In the order of the stages: which passes can still be merged may depend on those merged before.
    for table in dict.fromkeys(stage.table.name for stage in stages if stage.table):
        passes = sorted((s for s in merged if s.table and s.table.name == table), key=lambda s: -s.level)
        kept: list[Stage] = []
        for stage in passes:
            host = next((h for h in kept if not _reaches(merged, h, stage) and not _reaches(merged, stage, h)), None)
            if host is None:
                kept.append(stage)
                continue
            union = replace(host, sends=host.sends + stage.sends)
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
    """Every stage after those it reads from; otherwise as they were planned."""
    waiting = sorted(stages, key=lambda stage: (stage.result is not None, stage.level))
    done: list[Stage] = []
    sent: set[int] = set()
    while waiting:
        ready = next((stage for stage in waiting if set(stage.receives) <= sent), None)
        if ready is None:
            raise PlanError("the stages wait for one another in a circle")
        waiting.remove(ready)
        done.append(ready)
        sent |= {edge.number for edge in ready.sends}
    return done


def fuse_folds(stages: list[Stage]) -> list[Stage]:
    """Where an edge only hands rows to the partition they are in already, its reader computes them itself."""
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
    """The stages with this edge gone, and with it all others between the same two, if they can go."""
    reader = next((stage for stage in stages if edge.number in stage.receives), None)
    if reader is None:
        return None
    between = [each for each in sender.sends if each.number in reader.receives]
    if not all(_can_go(stages, each) for each in between):
        return None
    others = [stage for stage in stages if stage is not sender and stage is not reader]
    by_third = any(_feeds(sender, each) and _reaches(stages, each, reader) for each in others)
    kept = tuple(each for each in sender.sends if each not in between)
    # An answer sends nothing on: what others read too stays in a stage of its own.
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
    """The node with what the edges carried in the place of its arrival."""
    if isinstance(node, Receive):
        return next((edge.node for edge in edges if node.edge == edge.number), node)
    changed = {
        each.name: _without(value, edges)
        for each in fields(node)
        if isinstance(value := getattr(node, each.name), Node)
    }
    return replace(node, **changed) if changed else node
