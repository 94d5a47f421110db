# Probes that a script makes of others: sources, guards, arguments, choices, names, order, what is said when they are not to be had.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
run() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q "$@" >"$TMP/out" 2>"$TMP/err" || fail "$* failed"; }
has() { grep -qxF "$1" "$TMP/out" || fail "this line is missing: $1"; }
cat >"$TMP/own.d" <<'END'
provider own {
	probe forked(struct task_struct *child, int pid) : (int pid, struct task_struct *child)
		= rawtp:::no_such_tracepoint (args[0], 1)
		|| rawtp:::sched_process_fork (args[2], 1)
		|| rawtp:::sched_process_fork /args[0]->pid == $target/ (args[1], args[1]->tgid);
	probe twice(int n) = syscall::getpid:entry (1), syscall::getppid:return (2), syscall::no_such_call:entry (3)
		|| syscall::kill:entry /(int)arg1 == 0/ (4), syscall::kill:return /arg0 / (1 + 1) == 0/ (5);
	probe four__only(int n) = own:::twice /args[0] == 4/;
	probe text(string s) = own:::four-only (probename), own:::forked ("f");
	probe nobody() = rawtp:::no_such_tracepoint || own:::nobody;
};
END
cat "$TMP/own.d" - >"$TMP/use.d" <<'END'
own:::forked /args[0] == args[1]->pid && arg1 == args[0] && (struct task_struct *)arg0 == args[1] && arg2 == 0/ {
	@n[probeprov, probemod, probefunc, probename] = count(); }
own:::forked { this->x = 1; }
own:::forked /this->x/ { @n["one", "firing", "shares", "this"] = count(); }
rawtp:::sched_process_fork /args[0]->pid == $target/ { @n["and", "the", "tracepoint", probename] = count(); @r[id] = count(); }
rawtp:::sched_process_fork /this->x/ { @n["this", "of", "another", "probe"] = count(); }
own:::twice /pid == $target/ { @t[args[0], probename] = count(); this->y = args[0]; }
own:::four-only /pid == $target/ { @t[args[0], probename] = count(); @first[this->y] = count(); }
own:::text /pid == $target/ { @s[args[0]] = count(); }
END
printf 'END { printa("%%s:%%s:%%s:%%s %%@d\\n", @n); printa("%%d %%s %%@d\\n", @t); printa("text %%s %%@d\\n", @s); printa("this %%d %%@d\\n", @first); }\n' >>"$TMP/use.d"
run -s "$TMP/use.d" -c "$TRIGGER/work fork 12"
has 'own:::forked 12'; has 'one:firing:shares:this 12'; has 'and:the:tracepoint:sched_process_fork 12'; has 'text f 12'
grep -q 'this:of' "$TMP/out" && fail "a clause-local variable of another probe"
run -s "$TMP/use.d" -c "$TRIGGER/work kill 7"
has '4 twice 7'; has '4 four-only 7'; has 'text text 7'; has 'this 0 7'; has '5 twice 8'
# the same from a file of an -L folder, which the program does not name but by its probes; lists
mkdir "$TMP/lib"
sed 's/\$target/pid/' "$TMP/own.d" >"$TMP/lib/own.d"
echo '#pragma D attributes Stable/Stable/Common provider own name' >>"$TMP/lib/own.d"
run -L "$TMP/lib" -n 'own:::twice /pid == $target/ { @[args[0]] = count(); } END { printa("%d %@d\n", @); }' -c "$TRIGGER/work kill 5"
has '4 5'
run -L "$TMP/lib" -lP own
[ "$(awk '{ print $NF }' "$TMP/out" | tail -n +2 | paste -sd ' ')" = "forked twice four-only text" ] || fail "the list"
run -L "$TMP/lib" -lvn own:::forked
grep -q 'args\[0\]: int$' "$TMP/out" && grep -q 'args\[1\]: struct task_struct \*' "$TMP/out" || fail "the arguments"
refused() { # text that the message has, program
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -n "$2" >"$TMP/out" 2>"$TMP/err" && fail "$2 is accepted"
	grep -qF "$1" "$TMP/err" || fail "'$1' is not said of $2"
}
# an open argument is of the type that each source gives; a reason is the last choice
cat >"$TMP/open.d" <<'END2'
translator psinfo_t <struct kernel_siginfo *I> { pr_pid = 7; };
provider open {
	probe any(void *p, int n) : (psinfo_t *p, void *p, int n)
		= rawtp:::sched_process_fork /args[0]->pid == $target/ (args[1], 1), rawtp:::signal_generate /pid == $target && args[0] == 0/ (args[1], 2)
		|| "never said";
	probe gone() = rawtp:::gone || "rawtp:::come is for that";
	probe nothing() = "Linux has no such thing";
};
open:::any /args[2] == 1 && args[0]->pr_pid == ((struct task_struct *)args[1])->tgid && arg0 == (uint64_t)args[1]/ { @ = count(); }
END { printa("%@d\n", @); }
END2
run -s "$TMP/open.d" -c "$TRIGGER/work fork 12"
has 12
{ cat "$TMP/open.d"; echo "open:::gone { }"; } >"$TMP/gone.d"
"$DTRACE" -c /bin/true -s "$TMP/gone.d" 2>"$TMP/err" && fail "a probe that is not there"
grep -q 'there is no probe rawtp:::gone; rawtp:::come is for that' "$TMP/err" || fail "the reason"
{ cat "$TMP/open.d"; echo "open:::nothing { }"; } >"$TMP/nothing.d"
"$DTRACE" -c /bin/true -s "$TMP/nothing.d" 2>"$TMP/err" && fail "a probe without sources"
grep -q 'open:::nothing cannot fire here: Linux has no such thing' "$TMP/err" || fail "the only reason"
refused 'no source can follow a reason' 'provider own { probe p() = "x" || rawtp:::sched_switch; };'
refused "a reason stands behind '=' or '||'" 'provider own { probe p() = rawtp:::sched_switch, "x"; };'
refused 'no translator for args[0]' 'provider own { probe p(void *v) : (psinfo_t *v) = rawtp:::block_rq_issue (args[0]); }; own:::p { trace(args[0]->pr_pid); }'
refused 'there is no probe rawtp:::gone' 'provider own { probe p() = rawtp:::gone; }; own:::p { }'
refused 'index 9 is out of range' 'provider own { probe p() = rawtp:::sched_switch /args[9]/; }; own:::p { }'
refused 'declared as "int", the source gives "struct task_struct *"' 'provider own { probe p(int n) = rawtp:::sched_switch (args[1]); }; own:::p { }'
refused 'probe p has 1 argument, this source gives 2' 'provider own { probe p(int n) = rawtp:::sched_switch (1, 2); }; own:::p { }'
refused 'out of range for args[ ] of own:::p' 'provider own { probe p(int n) = rawtp:::sched_switch (1); }; own:::p { trace(args[1]); }'
refused 'a probe description is expected' 'provider own { probe p(int n) = ; }; own:::p { }'
refused "did you mean 'quick'" 'provider own { probe quick() = rawtp:::sched_switch; }; own:::qick { }'
exit 0
