# SPDX-License-Identifier: MIT
"""
An Erlang program sends terms of all kinds to a process that does not take them, writes down what io:format("~p") and process_info() say, and
aborts: its core file in mdb must say the same. Then the same of one that lives, of a copy of it, and of core files that are damaged.
"""
import glob, json, os, random, re, shutil, subprocess, sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
sys.dont_write_bytecode = True
from core_files import kernel_cores, unlimited
from asked import MDB, TMP, check, failed, run

PROGRAM = r'''
-module(graph).
-export([main/1, keep/2, wait/2, deep/2, far/1, spin/0, guard/1]).

wait(A, B) -> receive {never, X} -> {A, B, X} end.
keep(A, State) -> Y = wait(State, [1, 2]), {Y, State, A}.
deep(0, X) -> wait(X, #{a => 1}), ok;
deep(N, X) -> R = deep(N - 1, X), {R, N}.
far(0) -> wait(0, 0), ok;
far(N) -> _ = far(N - 1), N.
guard(X) -> try deep(3, X) catch error:_ -> X end.
spin() -> spin().

terms() ->
    N = 5, F = fun(X) -> X + 1 end, G = fun(X, Y) -> X + Y + N end,
    Far = list_to_binary([I rem 256 || I <- lists:seq(1, 1000)]), Text = binary:copy(<<"0123456789">>, 30),
    <<_:3, Shifted:64/bitstring, _/bitstring>> = Far,
    <<_:4, Letters:40/bitstring, _/bitstring>> = <<5:4, "hello", 3:4>>,
    <<_:5, Odd:13/bitstring, _/bitstring>> = Far,
    Hash = maps:from_list([{I, {I, I * I}} || I <- lists:seq(1, 1500)]),
    Keys = maps:from_list([{list_to_atom("k" ++ integer_to_list(I)), I} || I <- lists:seq(1, 33)]),
    [0, 1, -1, 255, 1 bsl 59 - 1, 1 bsl 59, -(1 bsl 59), -(1 bsl 59) - 1, 1 bsl 63, 1 bsl 64, -(1 bsl 64), 1 bsl 900 + 12345, -(3 bsl 200),
     0.0, -0.0, 1.0, 100.0, 1000.0, 1250.0, 12345670.0, 0.1, 0.0001, 1.5e-4, 0.00125, 9007199254740991.0, 9007199254740992.0, 1.0e22, 1.5e300, -2.5e-300,
     5.0e-324, 1.7976931348623157e308, 3.141592653589793, 123456789.123,
     atom, 'Quoted', 'two words', 'it\'s', 'a@b_1', '', 'end', 'gr\xf6\xdfe', '_x', '1a', 'nl\n', ok, 'fun', '\x{416}',
     [], [1], [1, 2, 3], [a | b], [1, 2 | 3], "text", "say \"x\"\n\t\\", "caf\xe9", [104, 105, 1], [104, 105 | x], [[[]]], lists:seq(1, 70), lists:duplicate(300, $a),
     {}, {1}, {a, {b, [c, {d}]}}, list_to_tuple(lists:seq(1, 80)), {"s", <<"b">>, 1.5},
     #{}, #{a => 1}, #{"k" => [1], {t} => #{n => 2}, 7 => <<1>>}, Keys, Hash,
     <<>>, <<"text">>, <<1, 2, 3>>, <<0>>, <<1, 2, 3:4>>, <<5:3>>, <<"quote\"", 10>>, <<"\x{e9}">>, <<255, 0>>, Far, Text, binary:part(Text, 7, 100),
     binary:part(Far, 300, 40), Shifted, Letters, Odd,
     self(), make_ref(), ets:new(table, []), atomics:new(1, []), hd(erlang:ports()), F, G, fun lists:map/2, fun ?MODULE:wait/2].

until(P, Key, Value) -> case process_info(P, Key) of {Key, Value} -> ok; _ -> erlang:yield(), until(P, Key, Value) end.
start(Name, F, A) -> P = spawn(?MODULE, F, A), register(Name, P), P.

frame({M, F, A, Where}) ->
    Line = case Where of [] -> ""; _ -> [" (", filename:basename(proplists:get_value(file, Where)), $:, integer_to_list(proplists:get_value(line, Where)), $)] end,
    io_lib:format("~w:~w/~w~s", [M, F, A, Line]).
about(P) ->
    I = process_info(P, [registered_name, message_queue_len, garbage_collection_info, status, current_stacktrace, backtrace, initial_call]),
    G = fun(K) -> proplists:get_value(K, I) end,
    Heap = G(garbage_collection_info), H = fun(K) -> proplists:get_value(K, Heap) end,
    Ys = [L || L <- string:split(binary_to_list(G(backtrace)), "\n", all), lists:prefix("y(", L)],
    {M, F, A} = G(initial_call),
    io_lib:format("~s|~s|~b|~b|~b|~s|~w:~w/~b|~s|~s", [pid_to_list(P), case G(registered_name) of [] -> "-"; X -> atom_to_list(X) end, G(message_queue_len),
        H(heap_block_size) + H(old_heap_block_size), H(stack_size), G(status), M, F, A, lists:join($;, [frame(X) || X <- G(current_stacktrace)]), lists:join($;, Ys)]).

main([Out, Kind]) ->
    Keeper = start(keeper, keep, [text, {state, 42}]),
    Own = [Keeper, start(recursive, far, [150]), start(deep_one, guard, [{pair, self()}]), start('Odd name', wait, [1, 2]), S = start(stands, wait, [3, "abc"])],
    [until(P, status, waiting) || P <- Own],
    erlang:suspend_process(S),
    Busy = start(busy, spin, []),
    [Busy ! X || X <- lists:seq(1, 7)],
    Terms = terms(),
    [Keeper ! T || T <- Terms],
    until(Keeper, status, waiting),
    until(Keeper, message_queue_len, length(Terms)),
    Text = unicode:characters_to_binary([[io_lib:format("~0tp", [T]), $\n] || T <- Terms]),
    file:write_file(Out ++ ".terms", Text),
    file:write_file(Out ++ ".processes", unicode:characters_to_binary([[about(P), $\n] || P <- Own])),
    file:write_file(Out ++ ".all", [[pid_to_list(P), $\n] || P <- processes()]),
    case Kind of "core" -> erlang:halt(abort); _ -> io:format("ready~n"), io:get_line(""), erlang:halt(0) end.
'''


def table(target, command):
    return json.loads(run(target, command, "-o", "json"))["rows"]


def line_of(text):
    """A term in several lines, in one."""
    return re.sub(r"\n *", "", text.strip("\n"))


def messages_of(target):
    listed = table(target, "::erlps -va keeper")
    check(len(listed) == 1, "one process of that name", listed)
    return [d.split(": ", 2)[1:] for d in listed[0]["details"] if d.startswith("message: ")]


def terms_check(target):
    wanted = open(f"{TMP}/known.terms").read().splitlines()
    words = [w for w, _ in messages_of(target)]
    check(len(words) == len(wanted), "all messages", f"{len(words)}, {len(wanted)}")
    rows = [json.loads(r)["rows"][0] for r in run(target, "; ".join(f"{w}::erlprint -d 60 -n 2000" for w in words), "-o", "json").splitlines()]
    for row, text in zip(rows, wanted):
        shown = line_of(row["value"])
        check(shown == text, "a term", f"{shown}\n{text}")
    kinds = {r.split(": ", 1)[1].strip() for r in run(target, "; ".join(f"{w}::erltype" for w in words)).splitlines()}
    expected = {"integer (small)", "integer (big)", "float", "atom", "list", "list (empty)", "tuple", "map (flat)", "map (hash)", "binary (heap)",
                "binary (part of another)", "pid", "port", "reference", "fun", "fun (external)"}
    check(expected <= kinds, "kinds of terms", expected - kinds)
    at = {text: w for w, text in zip(words, wanted)}
    check(run(target, at['{a,{b,[c,{d}]}}'] + "::erlprint -d 1").strip() == "{a,{...}}", "no deeper than was asked for")
    check(run(target, at[wanted[-12]] + "::erlprint -n 3", status=0).count(",") < 8, "no more items than were asked for")
    shown = run(target, next(w for w, t in zip(words, wanted) if t.startswith("[1,2,3,4,5")) + "::erlprint -n 3").strip()
    check(shown == "[1,2,3,... 67 more]", "what was left out of a list", shown)
    shown = run(target, next(w for w, t in zip(words, wanted) if t.startswith("#{") and len(t) > 9000) + "::erlprint -n 3").strip()
    check(shown.endswith(",... 1497 more}"), "what was left out of a map", shown)
    check(run(target, at['"text"'] + "::erlstr").strip() == '"text"', "::erlstr")
    for wrong in ("1000", "7ffffffffffffffa"):
        check("is no value" in run(target, f"{wrong}::erlprint", status=1), f"{wrong} is no term")


def processes_check(target):
    listed = table(target, "::erlps")
    everything = open(f"{TMP}/known.all").read().split()
    check(sorted(r["pid"] for r in listed) == sorted(everything), "all processes", f"{len(listed)}, {len(everything)}")
    by_pid = {r["pid"]: r for r in listed}
    own = [line.split("|") for line in open(f"{TMP}/known.processes").read().splitlines()]
    names = {line[0]: f"'{line[1]}'" if " " in line[1] else line[1] for line in own}
    asked = "; ".join(f'{by_pid[pid]["task"][2:]}::erlps -v; ::erlstack "{name}"' for pid, name in names.items())
    answers = [json.loads(line)["rows"] for line in run(target, asked, "-o", "json").splitlines()]
    for n, line in enumerate(own):
        pid, name, messages, heap, stack, status, initial, frames, slots = line
        r = by_pid[pid]
        one, frame_rows = answers[2 * n:2 * n + 2]
        have = [r["name"], r["messages"], r["heap"], r["stack"], r["state"], r["function"]]
        check(have == [names[pid], int(messages), int(heap), int(stack), status, frames.split(";")[0]], f"process {name}", f"{r}\n{line}")
        check(len(one) == 1 and f"began with: {initial}" in one[0]["details"], f"what {name} began with", one)
        shown = [s["frame"] for s in frame_rows if "frame" in s]
        # Erlang leaves out equal frames that follow each other
        equal = [f for i, f in enumerate(shown) if not i or f != shown[i - 1]]
        check(equal == frames.split(";") + ["<terminate process normally>"], f"the stack of {name}", f"{shown}\n{frames}")
        check(name != "recursive" or shown.count("graph:far/1 (graph.erl:11)") == 150, "calls that are many", shown)
        check(name != "deep_one" or shown.count("graph:deep/2 (graph.erl:9)") == 3, "calls of a function by itself", shown)
        shown = [f"{s['variable']} {s['value']}" for s in frame_rows if "variable" in s]
        wanted = [re.sub(" +", " ", re.sub("Catch .*", "catch", s)).replace(" => ", "=>") for s in slots.split(";") if s]
        check([s.replace(" => ", "=>") for s in shown] == wanted, f"values in the frames of {name}", f"{shown}\n{wanted}")
    busy = next(r for r in listed if r["name"] == "busy")
    check(busy["messages"] == 7 and busy["state"] in ("running", "runnable"), "a process that takes no messages", busy)
    lengths = [r["messages"] for r in table(target, "::erlps -s messages")]
    check(lengths == sorted(lengths, reverse=True) and lengths[0] > 7, "sorted by mailboxes", lengths)
    check(len(run(target, "::erlps ! cat").splitlines()) == len(everything) + 1, "as text, with a heading")
    check("there is no column 'x'; there are: pid, name, messages" in run(target, "::erlps -s x", status=1), "a column that is not there")
    check("no task has 'nobody'" in run(target, "::erlps nobody", status=1), "a process that is not there")
    check("is no task" in run(target, "1000::erlstack", status=1), "an address that is no process")


def damage_check(core):
    """What is wrong in a core file must neither end nor stop the debugger."""
    data = bytearray(open(core, "rb").read())
    words = [int(w, 16) for w, _ in messages_of([core])]
    chance = random.Random(3)
    for n in range(2):
        worse = bytearray(data)
        for _ in range(len(data) // 1024):
            k = chance.randrange(1 << 16, len(data) - 8)
            worse[k:k + 8] = [os.urandom(8), chance.choice(words).to_bytes(8, "little")][n]
        open(f"{TMP}/worse", "wb").write(worse)
        commands = "::erlps -v; ::erlstack; " + "; ".join(f"{w:x}::erlprint -d 20" for w in words if w & 3 in (1, 2))
        r = subprocess.run([MDB, "-e", commands, f"{TMP}/worse"], capture_output=True, timeout=120)
        check(r.returncode in (0, 1), f"a damaged core file: {r.returncode}", r.stderr[-2000:])
    os.unlink(f"{TMP}/worse")


def program_run(kind):
    return subprocess.Popen(["erl", "+S", "2:2", "+A", "1", "-noshell", "-noinput" if kind == "core" else "-noshell", "-run", "graph", "main", f"{TMP}/known", kind],
                            cwd=TMP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C.UTF-8"})


if not shutil.which("erl") or not shutil.which("erlc"):
    print("Erlang/OTP is not installed (package erlang-base)")
    sys.exit(67)
os.chdir(TMP)
release = subprocess.run(["erl", "-noshell", "-eval", "io:put_chars(erlang:system_info(otp_release)), halt(0)."], capture_output=True, text=True).stdout
if release not in ("25", "27"):
    print(f"this is Erlang/OTP {release}; terms of 25 and 27 are known")
    sys.exit(67)
open("graph.erl", "w").write("%% coding: utf-8\n" + PROGRAM)
subprocess.run(["erlc", "graph.erl"], check=True)
unlimited()
with kernel_cores():
    program_run("core").communicate(timeout=120)
core = next(iter(glob.glob(f"{TMP}/core*")), None)
check(core, "it leaves a core file")
if core:
    terms_check([core])
    processes_check([core])
    damage_check(core)
    os.unlink(core)
p = program_run("live")
try:
    check(p.stdout.readline() == b"ready\n", "the program begins")
    terms_check(["-p", str(p.pid)])
    processes_check(["-p", str(p.pid)])
    processes_check(["-S", str(p.pid)])
    p.communicate(b"\n", timeout=60)
    check(p.returncode == 0, "it goes on to its end", p.returncode)
finally:
    if p.poll() is None:
        p.kill()
    p.wait()
sys.exit(1 if failed else 0)
