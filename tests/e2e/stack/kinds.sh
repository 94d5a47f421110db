# Stacks of the kernel and of a process in one aggregation: each has frames of its own kind, in every form of output.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
run() { "$DTRACE" -q "$@" -c 'dd if=/dev/zero of=/dev/null bs=1 count=100 status=none' >"$TMP/out" 2>"$TMP/err" || fail "$*"; }
prog='syscall::write:entry /pid == $target/ { @[stack(2)] = count(); @[ustack(1)] = count(); @n[1, ustack(1)] = count(); @n[2, stack(1)] = count(); }'

run -n "$prog"
tr -s ' \n' ' ' <"$TMP/out" >"$TMP/flat"
grep -q 'vmlinux`[^ ]* vmlinux`[^ ]* 100 ' "$TMP/flat" && grep -qE 'libc[^ ]*`[^ ]*write[^ ]* 100 ' "$TMP/flat" || fail "text"
grep -qE ' 1 libc[^ ]*`[^ ]*write[^ ]* 100 ' "$TMP/flat" && grep -q ' 2 vmlinux`[^ ]* 100 ' "$TMP/flat" || fail "with another key"

run -n "$prog END { printa(\"<%k> %@d;\", @); clear(@); trunc(@n); }"
tr -s ' \n' ' ' <"$TMP/out" >"$TMP/flat"
grep -q '< vmlinux`[^ ]* vmlinux`[^ ]* > 100;' "$TMP/flat" && grep -qE '< libc[^ ]*`[^ ]*write[^ ]* > 100;' "$TMP/flat" || fail "printa"

# joint printing keeps rows of one kind together
run -n 'syscall::write:entry /pid == $target/ { @a[stack(1)] = count(); @a[ustack(1)] = count(); @b[ustack(1)] = sum(2); @b[stack(1)] = sum(3); }
	END { printa("<%k> %@d %@d;", @a, @b); trunc(@a); trunc(@b); }'
tr -s ' \n' ' ' <"$TMP/out" >"$TMP/flat"
grep -q '< vmlinux`[^ ]* > 100 300;' "$TMP/flat" && grep -qE '< libc[^ ]*`[^ ]* > 100 200;' "$TMP/flat" || fail "joint printa"

run -x oformat=json -n "$prog"
python3 - "$TMP/out" <<'END' || fail "JSON"
import json, sys
aggs = json.load(open(sys.argv[1]))["dtrace"]["aggregations"]
kinds = {}
for row in [r for a in aggs for r in a["aggregation-data"]]:
	key = row["keys"][-1]
	assert row["count"] == 100, row
	[(kind, frames)] = key.items()
	kinds[kind] = kinds.get(kind, 0) + 1
	assert all((f["module"] == "vmlinux") == (kind == "stack-frames") for f in frames), key
assert kinds == {"stack-frames": 2, "ustack-frames": 2}, kinds
END
run -x oformat=folded -n "$prog"
grep -q '^vmlinux`[^;]*;vmlinux`[^;]* 100$' "$TMP/out" && grep -qE '^libc[^;]*`[^;]*write[^;]* 100$' "$TMP/out" || fail "folded"
run -x oformat=html -n "$prog"
grep -q 'vmlinux`' "$TMP/out" && grep -qE 'libc[^<]*`[^<]*write' "$TMP/out" || fail "HTML"
run -x oformat=flame -n "$prog"
grep -q 'vmlinux`' "$TMP/out" && grep -qE 'libc[^<"]*`[^<"]*write' "$TMP/out" || fail "flame"
# names that make one key of several stacks do so for each kind
run -x stackmerge=function -n "$prog"
grep -q 'vmlinux`' "$TMP/out" && grep -q 'libc' "$TMP/out" || fail "stackmerge"
