%% SPDX-License-Identifier: MIT
%% workload:main(["server" | "compiler", EVERY, MOST]): a workload that writes down the stack of its processes at each EVERY-th call of workload_point().
-module(workload).
-export([main/1, workload_point/0, parse_transform/2]).

workload_point() ->
    [{every, Every}, {most, Most}] = lists:sort(ets:lookup(workload, every) ++ ets:lookup(workload, most)),
    case ets:update_counter(workload, calls, 1) rem Every of
        0 -> note(ets:update_counter(workload, points, 1), Most);
        _ -> ok
    end.

note(N, Most) when N =< Most ->
    {current_stacktrace, [_ | Frames]} = process_info(self(), current_stacktrace),
    {ok, Out} = file:open("noted", [append, raw]),
    ok = file:write(Out, io_lib:format("POINT:~6..0w ~ts~n", [N, lists:join($|, [text(F) || F <- Frames])])),
    ok = file:close(Out);
note(_, _) -> ok.

text({M, F, A, Where}) ->
    Line = case Where of
        [] -> "";
        _ -> [" (", filename:basename(proplists:get_value(file, Where)), $:, integer_to_list(proplists:get_value(line, Where)), $)]
    end,
    [atom_to_list(M), $:, atom_to_binary(F, utf8), $/, integer_to_list(A) | Line].

parse_transform(Forms, _) ->
    lists:map(fun(F) -> workload_point(), F end, Forms).

serve(Listener) ->
    {ok, S} = gen_tcp:accept(Listener),
    Pid = spawn(fun() -> receive go -> answer(S, []) end end),
    ok = gen_tcp:controlling_process(S, Pid),
    Pid ! go,
    serve(Listener).

answer(S, Headers) ->
    case gen_tcp:recv(S, 0) of
        {ok, {http_header, _, Name, _, Value}} -> answer(S, [{Name, Value} | Headers]);
        {ok, http_eoh} ->
            Sorted = lists:sort(fun(A, B) -> workload_point(), A =< B end, Headers ++ [{I, x} || I <- lists:seq(1, 20)]),
            Text = lists:flatten([begin workload_point(), io_lib:format("~p~n", [H]) end || H <- Sorted]),
            ok = gen_tcp:send(S, ["HTTP/1.0 200 OK\r\n\r\n" | Text]),
            gen_tcp:close(S);
        {ok, _} -> answer(S, Headers);
        {error, _} -> gen_tcp:close(S)
    end.

server() ->
    {ok, L} = gen_tcp:listen(0, [{packet, http}, {active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(L),
    spawn(fun() -> serve(L) end),
    Self = self(),
    Ask = fun() -> {ok, S} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]),
        ok = gen_tcp:send(S, "GET / HTTP/1.0\r\nHost: here\r\nAccept: all\r\n\r\n"), drain(S) end,
    [spawn(fun() -> [Ask() || _ <- lists:seq(1, 30)], Self ! done end) || _ <- lists:seq(1, 4)],
    [receive done -> ok end || _ <- lists:seq(1, 4)].

drain(S) ->
    case gen_tcp:recv(S, 0) of
        {ok, _} -> drain(S);
        _ -> gen_tcp:close(S)
    end.

compiler() ->
    [{ok, _, _} = compile:file("workload.erl", [binary, {parse_transform, workload}]) || _ <- lists:seq(1, 10)].

main([What, Every, Most]) ->
    erlang:system_flag(backtrace_depth, 1000),
    ets:new(workload, [named_table, public]),
    ets:insert(workload, [{every, list_to_integer(Every)}, {most, list_to_integer(Most)}, {calls, 0}, {points, 0}]),
    ok = file:write_file("noted", "POINT:000000 \n", [append, raw]),
    wait(6000),
    case What of "server" -> server(); _ -> compiler() end,
    halt(0).

wait(0) -> ok;
wait(N) -> case filelib:is_file("met") of true -> ok; _ -> timer:sleep(20), wait(N - 1) end.
