# SPDX-License-Identifier: MIT
# Erlang/OTP 25, with the two definitions of its emulator and of user programs (950 probes): its own suite dyntrace_SUITE, the
# scripts that come with it, and the arguments. The interpreter is built, because the JIT compiler of 25 has no process-scheduled,
# which the suite wants. Applications that the emulator and the suite do not need are left out.
needs gcc make m4 perl libncurses-dev libssl-dev
source_of erlang
leave_out=
for app in lib/*/; do
	case $app in
	*/common_test/ | */compiler/ | */crypto/ | */erl_interface/ | */kernel/ | */parsetools/ | */runtime_tools/ | */sasl/ | */stdlib/ | */tools/) ;;
	*) leave_out+=" --without-$(basename "$app")" ;;
	esac
done
export ERL_TOP=$PWD
quiet ./configure --with-dynamic-trace=dtrace --disable-jit $leave_out
grep -q 'for 1-stage DTrace precompilation... yes' "$work/$name.log"
grep -q 'for 2-stage DTrace precompilation... yes' "$work/$name.log"
quiet make -j2

# The suite runs "sudo /usr/sbin/dtrace"; it wants a hook that only Erlang's own test machinery has, and files that Debian removes.
mkdir "$work/$name/sudo" "$work/$name/ct"
printf '#!/bin/sh\nshift\nexec dtrace "$@"\n' >"$work/$name/sudo/sudo"
chmod +x "$work/$name/sudo/sudo"
touch lib/common_test/priv/jquery-latest.js lib/common_test/priv/jquery.tablesorter.min.js
sed -i 's/{ct_hooks, *\[ts_install_cth\]},//' lib/runtime_tools/test/dyntrace_SUITE.erl
(cd lib/runtime_tools/test && PATH="$work/$name/sudo:$PATH" timeout 120 "$ERL_TOP/bin/ct_run" -noshell -suite dyntrace_SUITE \
	-logdir "$work/$name/ct") >"$work/erlang.tests" 2>&1 || { tail -30 "$work/erlang.tests"; false; }
grep -q '2 ok, 0 failed of 2 test cases' "$work/erlang.tests"

described 'userland char *,userland char *,uint32_t,int,int,int' 'erlang$target:beam.smp:enif_send:message-send' bin/x86_64-pc-linux-gnu/beam.smp
# "erl" is a script that executes a program that executes the emulator: at first no process has the probes (option zdefs).
cat >t.erl <<'END'
-module(t).
-export([start/0, child/1, add/2]).
child(Parent) ->
    receive {add, A, B} -> Parent ! {sum, t:add(A, B)} end,
    exit({done, 42}).
add(A, B) -> A + B.
start() ->
    register(main, self()),
    Child = spawn(t, child, [self()]),
    Ref = erlang:monitor(process, Child),
    Child ! {add, 20 + 0 * erlang:unique_integer(), 22},
    receive {sum, 42} -> ok end,
    receive {'DOWN', Ref, process, Child, _} -> ok end,
    dyntrace:put_tag("a tag"),
    true = dyntrace:p(1, 2, 3, 4, "one", "two", "three", "four"),
    true = dyntrace:p("alone"),
    true = dyntrace:pn(7, 11, "seven"),
    true = dyntrace:pn(949, 950, "last"),
    erlang:garbage_collect(),
    {ok, _} = file:read_file("t.erl"),
    halt(0).
END
quiet bin/erlc t.erl
traced 'spawn t:child/1
send 4
queued 4
entry t:add/2
exit {done,42}
user a tag 1 2 3 4 one two three four
user a tag 0 0 0 0 alone   
user_trace-n7 a tag 11 seven
user_trace-n949 a tag 950 last
collected' '#pragma D option zdefs
erlang$target:::process-spawn /copyinstr(arg1) == "t:child/1"/ { child = copyinstr(arg0); printf("spawn %s\n", copyinstr(arg1)); }
erlang$target:::process-exit /copyinstr(arg0) == child/ { printf("exit %s\n", copyinstr(arg1)); }
erlang$target:::global-function-entry /copyinstr(arg1) == "t:add/2"/ { printf("entry %s\n", copyinstr(arg1)); }
erlang$target:::message-send /copyinstr(arg1) == child/ { printf("send %d\n", arg2); }
erlang$target:::message-queued /copyinstr(arg0) == child/ { printf("queued %d\n", arg1); }
erlang$target:::user_trace-i4s4 { printf("user %s %d %d %d %d %s %s %s %s\n", copyinstr(arg1), arg2, arg3, arg4, arg5,
    arg6 ? copyinstr(arg6) : "", arg7 ? copyinstr(arg7) : "", arg8 ? copyinstr(arg8) : "", arg9 ? copyinstr(arg9) : ""); }
erlang$target:::user_trace-n7, erlang$target:::user_trace-n949 { printf("%s %s %d %s\n", probename, copyinstr(arg1), arg2, copyinstr(arg6)); }
erlang$target:::gc_major-end { collected = 1; }
END /collected/ { printf("collected\n"); }' 'bin/erl -noshell -s t start'
