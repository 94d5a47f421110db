# The provider erlang over functions of a stock beam.smp: messages and ends of processes, with the names that Erlang gives them.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" "$TMP/erl.out" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
command -v erlc >/dev/null && erl -noshell -eval 'halt(case erlang:system_info(otp_release) of "25" -> 0; _ -> 1 end).' ||
	{ echo "no Erlang/OTP 25 (package erlang-base)"; exit 67; }
cat >t.erl <<'END'
-module(t).
-export([main/0, worker/1]).
worker(P) -> receive {x, N} -> P ! {y, N}, worker(P); stop -> ok end.
main() ->
	[spawn(erlang, self, []) || _ <- lists:seq(1, 40000)], % the number begins again, with the next serial number
	W = spawn(t, worker, [self()]),
	io:format("ready ~s ~p ~p~n", [os:getpid(), self(), W]),
	wait(),
	[begin W ! {x, I}, receive {y, I} -> ok end end || I <- lists:seq(1, 7)],
	V = spawn(t, worker, [self()]), V ! stop, W ! stop,
	io:format("spawned ~p~n", [V]),
	gone(V), gone(W), halt().
gone(P) -> case lists:member(P, processes()) of true -> timer:sleep(10), gone(P); false -> ok end.
wait() -> case filelib:is_file("go") of true -> ok; false -> timer:sleep(10), wait() end.
END
erlc t.erl || fail "erlc"
erl -noshell -run t main >erl.out 2>&1 & erl=$!
trap 'kill $erl 2>/dev/null' EXIT
for i in $(seq 200); do grep -q ready erl.out && break; sleep 0.05; done
set -- $(grep ready erl.out)
beam=$2 main=$3 worker=$4
cat >t.d <<'END'
#pragma D option quiet
erlang$1:::message-send { @[probename, copyinstr(arg0), args[1]] = count(); }
erlang$1:::process-exit, erlang$1:::process-spawn { @[probename, copyinstr(arg0), ""] = count(); }
BEGIN { system("touch go"); }
END { printa("%s %s %s %@d\n", @); }
END
"$DTRACE" -w -s t.d $beam >out 2>err & tracer=$!
wait $erl
kill -TERM $tracer
wait $tracer || fail "the script failed"
second=$(awk '/spawned/ { print $2 }' erl.out)
cat >want <<END
message-send $main $worker 8
message-send $worker $main 7
message-send $main $second 1
process-exit $worker  1
process-exit $second  1
process-spawn $second  1
END
grep -F -e "$worker" -e "$second" out | sort >got
sort want | diff - got || fail "other messages and processes than the program's"
"$DTRACE" -n "erlang$$:::gc_major-start {}" >out 2>err && fail "gc_major-start was found"
grep -q 'erlang:trace' err || fail "no reason for gc_major-start"
exit 0
