% Evaluated by rabbitmqctl on one node: the settings of all nodes of the cluster, as JSON in base64. The names in capital
% letters after an at sign are replaced by values. Some packages wrap rabbitmqctl in a script that expands its arguments
% again: no dollar sign, backslash or backtick may occur below this comment.
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
      coordinates_streams => is_pid(Call(N, erlang, whereis, [rabbit_stream_coordinator])),
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
