# Provider plockstat: what a program does with mutexes and readers-writer locks is counted exactly, with the right lock and the right arguments.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
getconf GNU_LIBC_VERSION 2>/dev/null | grep -qE '2\.(3[4-9]|[4-9])' || { echo "the C library is not GNU's, or older than 2.34"; exit 67; }
cat >"$TMP/l.d" <<'EOF'
plockstat$target::: { @[probename, arg0] = count(); }
plockstat$target:::mutex-acquire, plockstat$target:::mutex-release, plockstat$target:::mutex-blocked, plockstat$target:::mutex-error,
plockstat$target:::rw-acquire, plockstat$target:::rw-release, plockstat$target:::rw-block { @two[probename, args[0], args[1]] = count(); }
plockstat$target:::rw-blocked, plockstat$target:::rw-error { @three[probename, args[0], args[1], args[2]] = count(); }
plockstat$target:::mutex-block { self->began = timestamp; }
plockstat$target:::mutex-acquire /self->began/ { @waited = min(timestamp - self->began); self->began = 0; }
plockstat$target:libc.so.6:pthread_mutex_lock:mutex-block { @who[ustack(3)] = count(); }
END { printa("all %s %p %@d\n", @); printa("two %s %p %d %@d\n", @two); printa("three %s %p %d %d %@d\n", @three); printa("waited %@d\n", @waited); printa("%k%@d at this stack\n", @who); }
EOF
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qs "$TMP/l.d" -c "$TRIGGER/locks" >"$TMP/out" 2>"$TMP/err" || fail "failed"
[ -s "$TMP/err" ] && fail "a message"
set -- $(grep -m1 '^0x' "$TMP/out")
plain=${1#0x} recursive=${2#0x} strict=${3#0x} inheriting=${4#0x} rw=${5#0x}
want() { grep -qxF "$1" "$TMP/out" || fail "this line is missing: $1"; }
want "two mutex-acquire $plain 0 109"; want "two mutex-release $plain 0 109" # 100, 3 twice, 1, after the wait for the condition, by trylock
want "all mutex-block $plain 4"; want "two mutex-blocked $plain 1 3"; want "two mutex-blocked $plain 0 1"; want "two mutex-error $plain 110 1"
want "two mutex-acquire $recursive 0 4"; want "two mutex-acquire $recursive 1 4"; want "two mutex-release $recursive 1 4"; want "two mutex-release $recursive 0 4"
want "two mutex-acquire $strict 0 1"; want "two mutex-release $strict 0 1"; want "two mutex-error $strict 35 1"; want "two mutex-error $strict 1 1"
want "two mutex-acquire $inheriting 0 2"; want "two mutex-release $inheriting 0 2"; want "all mutex-block $inheriting 1"; want "two mutex-blocked $inheriting 1 1"
want "two rw-acquire $rw 0 8"; want "two rw-release $rw 0 8"; want "two rw-acquire $rw 1 10"; want "two rw-release $rw 1 10"
want "two rw-block $rw 0 1"; want "two rw-block $rw 1 2"; want "three rw-blocked $rw 0 1 1"; want "three rw-blocked $rw 1 1 2"; want "three rw-error $rw 0 35 1"
for p in "mutex-block $recursive" "mutex-block $strict" "mutex-error $inheriting" "mutex-error $recursive"; do
	grep -qF "all $p " "$TMP/out" && fail "$p"
done
grep -q 'locks`locker' "$TMP/out" || fail "the stack of a thread that waits"
# other processes: those that exist, and those that come
printf '%s\n' "$TRIGGER/locks" "$TRIGGER/locks" >"$TMP/two"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'plockstat*:::mutex-acquire /execname == "locks"/ { @[args[1]] = count(); } END { printa("%d %@d\n", @); }' -c "sh $TMP/two" >"$TMP/out" 2>"$TMP/err" || fail "all processes"
grep -qx '1 8' "$TMP/out" || fail "two processes"
# what cannot be seen from outside
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'plockstat$target:::mutex-spin' -c "$TRIGGER/locks" >"$TMP/out" 2>"$TMP/err" && fail "mutex-spin is there"
grep -q 'the C library spins in the middle of pthread_mutex_lock()' "$TMP/err" || fail "why there is no mutex-spin"
exit 0
