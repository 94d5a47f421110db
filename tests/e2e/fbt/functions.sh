# Provider fbt: functions of the kernel fire exactly as often as they are called, with typed arguments and results; patterns, modules, refusals.
. "$SRC/tests/e2e/fbt/lib.inc"
run() { timeout 300 "$DTRACE" -q "$@" >"$TMP/out" 2>"$TMP/err" || fail "$* failed"; }
has() { grep -qxF "$1" "$TMP/out" || fail "this line is missing: $1"; }
refused() { ! timeout 300 "$DTRACE" -qn "$1" >"$TMP/out" 2>"$TMP/err" || fail "accepted: $1"; grep -qF "$2" "$TMP/err" || fail "$1: the message lacks '$2'"; }
needs_functions
make_writer 300
cat >"$TMP/s.d" <<'END'
fbt:vmlinux:vfs_write:entry /pid == $target && args[2] == 77/
{
	@["entry"] = count(); self->at = timestamp;
	@[args[0]->f_inode->i_mode >> 12 == 1 && arg2 == 77 ? "pipe" : "other"] = count();
	@[copyinstr(arg1, 3) == "xxx" ? "text" : "no text"] = count();
}
fbt::vfs_write:entry /pid == $target && args[2] == 78/ { self->bad = 1; }
fbt::vfs_write:return /self->at && arg0 == -1 && args[1] == 77 && timestamp > self->at/ { @["return"] = count(); self->at = 0; }
fbt::vfs_write:return /self->bad/ { printf("error %d\n", args[1]); self->bad = 0; }
fbt::vfs_writ[e]:entry, fbt::vfs_rea?:entry /pid == $target && arg2 == 77/ { @[probefunc] = count(); }
fbt::vfs_write:entry /pid == $target && arg2 == 77/ { @c[func(caller)] = count(); @d[stackdepth > 3] = count(); }
END { printa("%s %@d\n", @); printa("caller %s %@d\n", @c); printa("depth %d %@d\n", @d); }
END
run -s "$TMP/s.d" -c "/usr/bin/python3 $TMP/writer.py"
for line in "entry 300" "pipe 300" "text 300" "return 300" "vfs_write 300" "vfs_read 300" "error -9" "caller vmlinux\`ksys_write 300" "depth 1 300"; do has "$line"; done
# types of the kernel's own description
run -lvn fbt:vmlinux:vfs_write:
grep -q 'args\[0\]: struct file \*$' "$TMP/out" && grep -q 'args\[3\]: loff_t \*$' "$TMP/out" && grep -q 'args\[1\]: ssize_t$' "$TMP/out" || fail "types"
# ids are the same in a listing and in a session
id=$(timeout 300 "$DTRACE" -ln fbt::vfs_write:entry | awk 'END { print $1 }')
run -n "$id /arg2 == 77/ { @[probefunc, probename, id] = count(); } END { printa(\"%s %s %d %@d\n\", @); }" -c "/usr/bin/python3 $TMP/writer.py"
has "vfs_write entry $id 300"
# without a provider a name means functions if nothing else has it
run -n 'vfs_write:entry /pid == $target && arg2 == 77/ { @[probeprov, probemod] = count(); } END { printa("%s %s %@d\n", @); }' -c "/usr/bin/python3 $TMP/writer.py"
has "fbt vmlinux 300"
# a process that ends inside of a function
echo 'exit 3' >"$TMP/end.sh"
run -n 'fbt::do_group_exit:entry /pid == $target/ { self->in = 1; printf("ends %d\n", args[0]); }' -c "sh $TMP/end.sh"
has "ends 768"
refused 'fbt::vfs_writ:entry { }' "did you mean 'vfs_write'?"
refused 'fbt::vfs_write:entyr { }' "did you mean 'entry'?"
refused 'fbt::vfs_write:1c { }' "lists what there is"
refused 'fbt::no_such_function_at_all:entry { }' "inlined everywhere"
refused 'fbt::vfs_write:return { trace(args[2]); }' "index 2"
exit 0
