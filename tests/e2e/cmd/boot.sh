# The manual page's way to trace a boot (ANONYMOUS TRACING): dtrace -x bufpolicy=ring, stopped when the data is wanted.
unit=$(sed -n 's/^ *ExecStart=//p' "$SRC/doc/dtrace.8" | sed 's/\\-/-/g')
set -- ${unit#* }
[ "$*" = "-x bufpolicy=ring -b 16m -o /var/log/boot.trace -s /etc/boot.d" ] || { echo "the manual page says: $*"; exit 1; }
cat >"$TMP/boot.d" <<-'END'
	syscall::getppid:entry { printf("call %d\n", ++n); @ = count(); }
	END { printf("end\n"); }
END
"$DTRACE" -x bufpolicy=ring -b 16m -o "$TMP/boot.trace" -s "$TMP/boot.d" 2>"$TMP/err" &
pid=$!
i=0
# Nothing is written before the end: it has begun when it holds links.
while [ $i -lt 400 ] && ! ls -l /proc/$pid/fd | grep -q 'bpf.link\|raw.tracepoint'; do i=$((i + 1)); sleep 0.05; done
i=0
while [ $i -lt 40 ]; do i=$((i + 1)); "$TRIGGER/calls" getppid 100; done
kill -TERM $pid # a shell makes those behind & ignore SIGINT
wait $pid || { echo "status $?"; cat "$TMP/err"; exit 1; }
grep -q 'call 100$' "$TMP/boot.trace" && grep -q 'end$' "$TMP/boot.trace" && tail -n 3 "$TMP/boot.trace" | grep -q '[0-9]' || { cat "$TMP/boot.trace" "$TMP/err"; exit 1; }
