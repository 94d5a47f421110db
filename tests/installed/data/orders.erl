%% SPDX-License-Identifier: MIT
-module(orders).
-export([main/0, known_here/2, known_outer/1]).

known_here(Order, Word) ->
    receive
        {done, Line} -> {Line, Order, Word}
    end.

known_outer(Id) ->
    {_, Order, _} = known_here({order, Id, [{item, N} || N <- lists:seq(0, 99)], #{paid => true}}, "word"),
    {known, Order}.

until_waits(P) ->
    case process_info(P, [status, message_queue_len]) of
        [{status, waiting}, {message_queue_len, 3}] -> ok;
        _ -> erlang:yield(), until_waits(P)
    end.

main() ->
    Shop = spawn(?MODULE, known_outer, [4711]),
    register(shop, Shop),
    [Shop ! {order, N, <<"bread">>} || N <- [1, 2, 3]],
    until_waits(Shop),
    io:format("ready~n"),
    io:get_line(""),
    halt(0).
