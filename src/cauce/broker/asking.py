"""Asks a node, with one call of `rabbitmqctl eval`, how the nodes of its cluster are set up. Changes nothing.

The answer comes as JSON in base64, so that neither the width of a terminal nor Erlang's way of printing matters.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence

import msgspec

from cauce.broker.facts import ClusterFacts
from cauce.errors import BrokerFailed

MOST_NAMES = 1000
"""Of streams and queues that are there, for policies to be held against."""

Eval = Callable[[str], str]
"""What a node prints for a piece of Erlang."""

# Some packages wrap rabbitmqctl in a script that reads its arguments once more: no $, no backslash, no backtick here.
_QUESTION = """
Call = fun(N, M, F, A) -> case rpc:call(N, M, F, A, 5000) of {badrpc, _} -> null; V -> V end end,
Env = fun(N, K) -> case Call(N, application, get_env, [rabbit, K]) of {ok, V} -> V; _ -> null end end,
Text = fun
    (null) -> null;
    (V) when is_binary(V) -> V;
    (V) when is_atom(V) -> atom_to_binary(V, utf8);
    (V) -> iolist_to_binary(io_lib:format("~0p", [V]))
  end,
Number = fun(V) when is_number(V) -> V; (_) -> null end,
List = fun(V) when is_list(V) -> V; (_) -> [] end,
Level = fun(L) -> Text(proplists:get_value(level, List(L), null)) end,
Either = fun(New, Old) ->
    case erlang:function_exported(rabbit_nodes, New, 0) of true -> rabbit_nodes:New(); false -> rabbit_nodes:Old() end
  end,
Node = fun(N) ->
    Log = List(Env(N, log)),
    Polls = lists:flatten(List(Call(N, erlang, system_info, [check_io]))),
    #{name => Text(N),
      reached => Call(N, erlang, node, []) =:= N,
      partition_handling => Text(Env(N, cluster_partition_handling)),
      tick_s => case Call(N, net_kernel, get_net_ticktime, []) of {_, V} -> Number(V); V -> Number(V) end,
      leader_locator => Text(Env(N, queue_leader_locator)),
      consumer_timeout_ms => Number(Env(N, consumer_timeout)),
      heartbeat_s => Number(Env(N, heartbeat)),
      frame_max => Number(Env(N, frame_max)),
      memory_limit => Number(Call(N, vm_memory_monitor, get_memory_limit, [])),
      memory_total => Number(Call(N, vm_memory_monitor, get_total_memory, [])),
      disk_limit => Number(Call(N, rabbit_disk_monitor, get_disk_free_limit, [])),
      file_level => Level(proplists:get_value(file, Log, [])),
      connection_level => Level(proplists:get_value(connection, List(proplists:get_value(categories, Log, [])), [])),
      descriptors => Number(proplists:get_value(max_fds, Polls, null)),
      partitions => [Text(P) || P <- List(Call(N, rabbit_node_monitor, partitions, []))]}
  end,
Alarm = fun({{resource_limit, What, N}, _}) -> [Text(What), <<" on ">>, Text(N)]; (Other) -> Text(Other) end,
There = [element(4, R) || R <- List(catch rabbit_amqqueue:list_names(@VHOST))],
Ours = lists:sublist([N || N <- There, string:prefix(N, @PREFIX) =/= nomatch], @MOST),
Policy = fun(Operator) -> fun(P) ->
    Get = fun(K) -> proplists:get_value(K, P) end,
    Hit = fun(N) -> (catch re:run(N, Get(pattern), [{capture, none}])) =:= match end,
    #{name => Get(name), operator => Operator, applies_to => Text(Get('apply-to')), priority => Get(priority),
      limits => maps:from_list([{K, Text(V)} || {K, V} <- Get(definition)]),
      names => [N || N <- @SAMPLES ++ Ours, Hit(N)]}
  end end,
Policies = fun(F, Operator) -> lists:map(Policy(Operator), List(catch rabbit_policy:F(@VHOST))) end,
code:ensure_loaded(rabbit_nodes),
base64:encode(iolist_to_binary(rabbit_json:encode(#{
  version => list_to_binary(rabbit_misc:version()),
  members => [Text(N) || N <- Either(list_members, all)],
  nodes => [Node(N) || N <- Either(list_running, all_running)],
  alarms => [iolist_to_binary(Alarm(A)) || A <- rabbit_alarm:get_alarms()],
  policies => Policies(list, false) ++ Policies(list_op, true)}))).
"""
_PIECE = re.compile(r'"([A-Za-z0-9+/=]*)"')


def ask(evaluate: Eval, vhost: str, namespace: str, samples: Sequence[str]) -> ClusterFacts:
    """`samples` are names that streams and queues of ours may have, beside those that are there."""
    printed = evaluate(question(vhost, namespace, samples))
    try:
        return msgspec.json.decode(base64.b64decode("".join(_PIECE.findall(printed))), type=ClusterFacts)
    except (binascii.Error, msgspec.DecodeError):
        raise BrokerFailed(f"the node answered what cannot be read: {printed.strip()[:300]}") from None


def question(vhost: str, namespace: str, samples: Sequence[str]) -> str:
    """In one line, with all that comes from outside as numbers of bytes."""
    given = {
        "@VHOST": _binary(vhost),
        "@PREFIX": _binary(namespace),
        "@SAMPLES": f"[{','.join(map(_binary, samples))}]",
        "@MOST": str(MOST_NAMES),
    }
    text = " ".join(_QUESTION.split())
    for place, value in given.items():
        text = text.replace(place, value)
    return text


def _binary(text: str) -> str:
    return f"<<{','.join(map(str, text.encode()))}>>"
