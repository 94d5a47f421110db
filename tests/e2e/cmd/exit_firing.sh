# exit() ends its firing: no later clause of it runs, only END does. The last exit() that is read decides the status.
bad=0
run() { # status, output without empty lines, arguments of dtrace
	want=$1; text=$2; shift 2
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q "$@" >"$TMP/o" 2>"$TMP/e"; got=$?
	[ $got = "$want" ] || { echo "$*: status $got, expected $want"; cat "$TMP/e"; bad=1; }
	[ "$(grep . "$TMP/o" | paste -sd ' ')" = "$text" ] || { echo "$*: printed"; cat "$TMP/o"; bad=1; }
}
run 1 'usage' -n 'BEGIN /$1 == 0/ { printf("usage\n"); exit(1); } BEGIN { printf("Tracing\n"); }' 0
run 0 'Tracing' -n 'BEGIN /$1 == 0/ { printf("usage\n"); exit(1); } BEGIN { printf("Tracing\n"); } tick-1ms { exit(0); }' 1
run 0 '' -n 'BEGIN { exit(1); } END { exit(0); }'
run 2 'same clause' -n 'BEGIN { exit(1); exit(2); printf("same clause\n"); }'
run 1 '' -n 'BEGIN { exit(1); } BEGIN { exit(2); }'
run 6 'end' -n 'BEGIN { exit(5); } END { printf("end\n"); } END { exit(6); } END { printf("no\n"); }'
# an exit() that a branch leads around
run 5 'yes yes' -n 'int n; BEGIN { if (n) { exit(4); } printf("yes\n"); } BEGIN { printf("yes\n"); n = 1; } BEGIN { if (n) { exit(5); } } BEGIN { printf("no\n"); }'
# ERROR: its clauses and those of the firing that faulted
run 3 'error end' -n 'BEGIN { trace(*(int *)0); } BEGIN { printf("no\n"); } ERROR { printf("error\n"); exit(3); } ERROR { printf("no\n"); } END { printf("end\n"); }'
run 3 'first one' -n 'BEGIN { printf("first\n"); } BEGIN { printf("%d", *(int *)0); } ERROR { printf("one\n"); } ERROR { exit(3); } ERROR { printf("no\n"); } BEGIN { printf("no\n"); }'
# a fault behind exit() takes the record with the status, not the end; ERROR is a probe like others
run 0 'end' -n 'BEGIN { exit(4); trace(*(int *)0); } ERROR { printf("no\n"); } BEGIN { printf("no\n"); } END { printf("end\n"); }'
# other probes, among them several that fire in one place
run 7 '' -n 'syscall:::entry { exit(7); } syscall:::entry { printf("no\n"); } tick-10s { exit(8); }'
run 0 '' -n 'tick-1ms { @a = count(); exit(0); } tick-1ms { @b = count(); } END { trunc(@a); } END { printa("no %@d\n", @b); }'
# many clauses are functions of their own, very many are several in one function
for n in 20 400; do
	python3 - $n >"$TMP/many.d" <<'EOF'
import sys
n = int(sys.argv[1])
for i in range(n):
    print(f"BEGIN {{ n{i} = {i}; }}")
    if i == n // 2:
        print('BEGIN { printf("half\\n"); exit(9); }')
print('BEGIN { printf("no\\n"); }')
EOF
	run 9 'half' -s "$TMP/many.d"
done
# so are those that the kernel has to check one by one
python3 - "$TMP/large.d" <<'EOF'
import sys
terms = " + ".join(f'(arg0 == {i} ? strlen("{i}") : 0)' for i in range(400))
with open(sys.argv[1], "w") as f:
    for i in range(12):
        f.write(f"BEGIN {{ n{i} = {terms}; trace(n{i}); }}\n")
    f.write('BEGIN { printf("large\\n"); exit(10); }\nBEGIN { printf("no\\n"); }\n')
EOF
run 10 '111111111111large' -s "$TMP/large.d"
exit $bad
