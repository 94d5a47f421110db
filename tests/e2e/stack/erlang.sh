# Stacks of Erlang/OTP with the JIT: at points where a process writes down what process_info() says, every frame is there, in order,
# with module, function, arity, file and line, in functions in C that run in a thread of an ordinary scheduler and in those of a dirty one.
# At arbitrary instructions, stacks reach the outermost function, and no function stands above one that does not call it.
release=$(erl -noshell -eval 'io:put_chars(erlang:system_info(otp_release)), halt(0).' 2>&1)
if ! command -v erlc >/dev/null || [ "$release" != "${ERLANG:-25}" ]; then
	echo "this test needs Erlang/OTP ${ERLANG:-25} of Debian (package erlang-base)"
	exit 67
fi
export LC_ALL=C.UTF-8
cd "$TMP" || exit 1

cat >points.erl <<'X'
-module(points).
-export([main/1, point/1, compare/2, deep/2, handle/2, init/1, handle_call/3, handle_cast/2]).
-behaviour(gen_server).

%% Writes down the stack, and makes a system call: in a thread of a dirty scheduler, or of an ordinary one.
point(Out) ->
    {current_stacktrace, [_ | Frames]} = process_info(self(), current_stacktrace),
    ets:insert(Out, {erlang:unique_integer([monotonic]), [lists:join($|, [text(F) || F <- Frames]), $\n]}),
    _ = file:read_file_info("/nonexistent", [raw]),
    os:set_signal(sigusr2, ignore),
    ok.

text({M, F, A, Where}) ->
    Line = case Where of
        [] -> "";
        _ -> [" (", filename:basename(proplists:get_value(file, Where)), $:, integer_to_list(proplists:get_value(line, Where)), $)]
    end,
    [atom_to_list(M), $:, atom_to_binary(F, utf8), $/, integer_to_list(A) | Line].

deep(Out, 0) -> point(Out), 0;
deep(Out, N) -> 1 + deep(Out, N - 1).

compare(Out, X) -> fun(A, B) -> point(Out), A + X < B end.

handle(Out, X) ->
    try
        [point(Out) || _ <- [1, 2]],
        throw(X)
    catch
        throw:Y -> point(Out), {ok, Y}
    after
        point(Out)
    end.

'größe'(Out) -> point(Out), 1.

init(Out) -> point(Out), {ok, Out}.
handle_call(_, _, Out) -> point(Out), {reply, ok, Out}.
handle_cast(_, Out) -> {noreply, Out}.

-file("src/other.hrl", 100).
included(Out) ->
    point(Out),
    1.

all(Out) ->
    point(Out),
    _ = 1 + deep(Out, 5),
    _ = 1 + deep(Out, 900),
    _ = lists:sort(compare(Out, 1), [3, 1, 2]),
    _ = lists:foldl(fun(X, A) -> point(Out), X + A end, 0, [1, 2]),
    _ = maps:map(fun(_, V) -> point(Out), V end, #{a => 1}),
    {ok, _} = handle(Out, 1),
    _ = 'größe'(Out) + included(Out),
    M = ?MODULE, F = point,
    ok = M:F(Out),
    ok = apply(M, F, [Out]),
    G = fun H(0) -> point(Out); H(N) -> H(N - 1), ok end,
    G(3),
    {ok, S} = gen_server:start_link(?MODULE, Out, []),
    ok = gen_server:call(S, x),
    Self = self(),
    spawn_link(fun() -> point(Out), Self ! done end),
    receive done -> point(Out) end,
    <<_:8, R/binary>> = << <<(begin point(Out), X end)>> || <<X>> <= <<"abc">> >>,
    R.

wait(_, 0) -> ok;
wait(File, N) ->
    case filelib:is_file(File) of
        true -> ok;
        false -> timer:sleep(20), wait(File, N - 1)
    end.

main([Name, Before, Behind]) ->
    ok = file:write_file(Name, ""),
    erlang:system_flag(backtrace_depth, 5000),
    Out = ets:new(points, [ordered_set, public]),
    wait(Before, 6000),
    _ = file:read_file_info("/nonexistent", [raw]),
    wait(Behind, 6000),
    all(Out),
    ok = file:write_file(Name, [T || {_, T} <- ets:tab2list(Out)]),
    halt(0).
X
cat >busy.erl <<'X'
-module(busy).
-export([main/0, fib/1, sorted/0, text/0, same/1]).
fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).
sorted() -> [] =/= lists:sort(fun(A, B) -> A rem 7 =< B rem 7 end, [X * 7919 rem 211 || X <- lists:seq(1, 100)]).
text() -> 0 =/= length([binary_to_list(<<(integer_to_binary(X))/binary, "x">>) || X <- lists:seq(1, 50)]).
same(X) -> X.
%% code that all modules use calls functions in C for numbers of this size; what calls that code is at any address
large(N) ->
    A = same(N + 16#7ffffffffffffff), B = same(A * 3), C = A * B + 16#fffffffffffffff, D = C * C - A, E = D div (B + 1), F = D rem (A + 1),
    {same(C), same(E bxor D), F bsl 3, bnot E, -D, E band F, D bor E}.
numbers(0) -> true;
numbers(N) -> _ = [large(N)], numbers(N - 1).
%% a frame in whose room return addresses of earlier calls are, until the function has filled it
wide(A) ->
    B = same(A), C = same(B + 1), D = same(C + 1), E = same(D + 1), F = same(E + 1), G = same(F + 1), H = same(G + 1),
    I = same(H + 1), J = same(I + 1), K = same(J + 1), L = same(K + 1), M = same(L + 1), N = same(M + 1),
    A + B + C + D + E + F + G + H + I + J + K + L + M + N.
frames(0) -> true;
frames(N) -> _ = fib(2) + wide(N), frames(N - 1).
loop(Until) ->
    _ = fib(12) + 1,
    true = sorted(),
    true = text(),
    true = numbers(20),
    true = frames(50),
    {Ms, _} = erlang:statistics(runtime),
    Met = Until =:= unknown andalso filelib:is_file("met"),
    if Met -> loop(Ms + 3000); Ms < Until -> loop(Until); true -> halt(0) end.
main() -> loop(unknown).
X
erlc points.erl busy.erl || exit 1

cat >stacks.py <<'X'
import re, sys
for block in sys.stdin.read().split("\n\n"):
    lines = [l.strip() for l in block.split("\n")]
    found = [l for l in lines if re.fullmatch(r"[^`\[]*:.*/\d+( \(.*:\d+\))?", l)]
    # what point() calls, and point() itself, are left out
    at = [i for i, l in enumerate(found) if l.startswith("points:point/1 ")]
    if at and lines[0 if lines[0] else 1].startswith(f"libc.so.6`{sys.argv[1]}"):
        found = found[at[0] + 1:]
        if len(found) > 900 and sum(l.startswith("points:deep/2 ") for l in found) == 901:
            found.insert(0, "900 deep")
        # Erlang leaves out repetitions of a frame
        print("|".join(l for i, l in enumerate(found) if not i or l != found[i - 1]))
X
script='syscall::newfstatat:entry /pid == $target && copyinstr(arg1) == "/nonexistent"/ { jstack(2000); }
	syscall::rt_sigaction:entry /pid == $target && arg0 == SIGUSR2/ { jstack(2000); }'
command='erl -noinput -noshell -run points main'

. "$SRC/tests/e2e/stack/compare.inc"

# check NAME: what the program noted is what was recorded, both at the system call of a dirty scheduler and of an ordinary one
check() {
	for call in fstatat __libc_sigaction; do
		python3 stacks.py $call <got.txt >got
		sed 's/^points:deep.*(other.hrl:108)/900 deep|&/' noted >want
		if ! cmp -s want got; then
			echo "$1, $call: stacks differ:"
			diff want got | cut -c1-300 | head -20
		fi
		echo "$1, $call: $(wc -l <noted) stacks"
	done
}

{
	check_begun
	check_running

	# native frames are where they belong
	python3 - <<'X'
for block in open("got.txt").read().split("\n\n"):
    lines = [l.strip() for l in block.split("\n") if l.strip()]
    if not any("points:included/1" in l for l in lines) or "fstatat" not in lines[0]:
        continue
    at = [i for i, l in enumerate(lines) if "[ prim_file:read_info_nif/2 ]" in l]
    good = at and lines[at[0] - 1].startswith("beam.smp`erts_dirty_process_main") and lines[at[0] + 1] == "prim_file:read_info_1/3"
    good = good and lines[-1].startswith(("libc.so.6`clone3", "libc.so.6`+0x")) and "init:do_boot/3" in lines
    print("mixed:", "good" if good else lines)
    break
X

	rm -f met
	"$TRIGGER/met" "$DTRACE" -q -x aggsize=64m -n 'profile-997 /pid == $target/ { @[jstack(400)] = count(); }' -c 'erl -noinput -noshell -run busy main' >got.txt 2>errors
	said errors
	python3 - <<'X'
import os, re
calls = {"busy:fib/1": {"busy:fib/1", "busy:loop/1"}, "busy:loop/1": {"init:start_em/1", "init:start_it/1"}, "busy:text/0": {"busy:loop/1"}, "busy:sorted/0": {"busy:loop/1"},
         "busy:-text/0-lc$^0/1-0-/1": {"busy:-text/0-lc$^0/1-0-/1", "busy:text/0"}, "init:start_it/1": {"init:start_em/1"}, "init:start_em/1": {"init:do_boot/3"}}
calls["busy:large/1"] = {"busy:numbers/1"}
calls["busy:wide/1"] = {"busy:frames/1"}
calls["busy:numbers/1"] = calls["busy:frames/1"] = {"busy:loop/1"}
calls["busy:fib/1"] |= {"busy:frames/1"}
calls["busy:same/1"] = {"busy:large/1", "busy:wide/1"}
calls["busy:-text/0-lc$^0/1-0-/2"] = calls["busy:-text/0-lc$^0/1-0-/1"]
total = whole = large = 0
wrong = []
for block in open("got.txt").read().split("\n\n"):
    lines = [l.strip() for l in block.split("\n") if l.strip()]
    if len(lines) < 2 or not lines[-1].isdigit():
        continue
    n = int(lines.pop())
    found = [re.sub(r" \(.*", "", l) for l in lines if re.fullmatch(r"[^`\[]*:.*/\d+( \(.*:\d+\))?", l)]
    names = "".join(found)
    if "busy:" not in names:
        continue
    total += n
    # numbers/1 calls nothing in C itself
    if found[0] in ("busy:large/1", "busy:numbers/1") and lines[0].startswith("beam.smp`"):
        large += n
        if found[0] == "busy:numbers/1":
            wrong.append((lines[0], found[0]))
    whole += n if lines[-1].startswith(("libc.so.6`clone3", "libc.so.6`+0x")) and found[-1] == "init:do_boot/3" else 0
    for f, caller in zip(found, found[1:]):
        if f.startswith("busy:") and f in calls and caller not in calls[f] or f.startswith("init:start_em") and caller != "init:do_boot/3":
            wrong.append((f, caller))
        if f.startswith("busy:-sorted") and not caller.startswith(("lists:", "busy:-sorted", "busy:sorted")):
            wrong.append((f, caller))
    wrong += [l for l in lines for m in [re.match(r"busy:fib/1 \(busy.erl:(\d+)\)", l)] if m and m[1] not in ("3", "4")]
print("profile:", "good" if total > 300 / int(os.environ["slow"]) and large > 20 / int(os.environ["slow"]) and whole >= 0.98 * total and not wrong else (total, whole, large, len(wrong), wrong[:9]))
X
} 2>&1
