# The three ways to stop at a function of the kernel (a program for each, one link for all, kprobes) give the same counts, arguments, results and stacks.
. "$SRC/tests/e2e/fbt/lib.inc"
needs_functions
make_writer 200
cat >ways.d <<'END2'
fbt::vfs_write:entry /pid == $target && arg2 == 77/
{
	@["entry", func(caller), stackdepth > 3, args[0]->f_inode->i_mode >> 12] = count();
	@t[copyinstr(arg1, 3), arg8 == arg8] = count();
}
fbt::vfs_write:entry /pid == $target && args[2] == 78/ { self->bad = 1; stack(2); }
fbt::vfs_write:return /pid == $target && args[1] == 77 && arg0 == -1/ { @r[func(caller), stackdepth > 2] = count(); }
fbt::vfs_write:return /self->bad/ { printf("error %d\n", args[1]); self->bad = 0; }
ERROR { printf("fault %d\n", arg4); }
END { printa("%s %a %d %d %@d\n", @); printa("text %s %d %@d\n", @t); printa("return %a %d %@d\n", @r); }
END2
run() { # WAY FEATURES: the features that the kernel is to lack
	FATHOM_NO_FEATURE=$2 timeout 300 "$DTRACE" -qxdebug -s ways.d -c "/usr/bin/python3 writer.py" >"$TMP/out" 2>"$TMP/err" || fail "$1 failed"
	grep -q "BPF program '$1'" "$TMP/err" || fail "not as $1"
	sed 's/+0x.*//' out | sort >"$3"
}
case $(uname -r) in 6.1.* | 6.12.*) few=fathom_fentry ;; *) few='fathom_.*' ;; esac
run "$few" "" few
run fathom_kfunc FENTRY many
run fathom_kfunc FENTRY,KPROBE_MULTI single
for want in 'entry vmlinux`ksys_write 1 1 200' 'text xxx 1 200' 'error -9' '              vmlinux`vfs_write' '              vmlinux`ksys_write'; do
	grep -qxF "$want" few || { cat few; fail "no '$want'"; }
done
grep -q '^return .* 1 200$' few || fail "returns"
for other in many single; do
	grep -v '^return ' few >few.entries; grep -v '^return ' $other >$other.entries
	diff few.entries $other.entries || fail "few and $other differ"
	grep -q '^return .* 200$' $other || fail "returns of $other"
done
# entries and returns of several functions in one script
timeout 300 "$DTRACE" -qxdebug -n 'fbt::vfs_read:entry, fbt::vfs_write:return /pid == $target/ { @b[probefunc] = count(); }' \
	-c "/usr/bin/python3 writer.py" >"$TMP/out" 2>"$TMP/err" || fail "entries and returns together"
grep -q "vfs_write *201$" "$TMP/out" || fail "201 returns"
# many functions: one program for all
timeout 500 "$DTRACE" -qxdebug -n 'fbt::vfs_*:entry /pid == $target && arg2 == 77 && probefunc == "vfs_write"/ { @ = count(); }' -c "/usr/bin/python3 writer.py" >"$TMP/out" 2>"$TMP/err" || fail "a pattern"
grep -q "BPF program 'fathom_kfunc'" "$TMP/err" || fail "a pattern is not one program"
grep -qx ' *200' "$TMP/out" || fail "200 by a pattern"
timeout 500 "$DTRACE" -qn 'fbt::vfs_*:return /pid == $target && arg1 == 77 && probefunc == "vfs_write"/ { @ = count(); }' -c "/usr/bin/python3 writer.py" >"$TMP/out" 2>"$TMP/err" || fail "returns by a pattern"
grep -qx ' *200' "$TMP/out" || fail "200 returns by a pattern"
# each firing has the name of the function in which the stack begins
timeout 500 "$DTRACE" -qxdebug -n 'fbt::vfs_*:entry, fbt::do_sys_*:entry, fbt::kmem_cache_*:entry, fbt::security_file_*:entry /pid == $target/ { @[probefunc, stack(1)] = count(); }
	END { printa("name %s%k", @); }' -c "/usr/bin/python3 writer.py" >"$TMP/out" 2>"$TMP/err" || fail "names by patterns"
grep -q "BPF program 'fathom_kfunc'" "$TMP/err" || fail "patterns are not one program"
awk '/^name / { name = $2 } /`/ { n++; sub(/.*`/, ""); sub(/\+.*/, ""); if ($1 != name) { print name ": the stack begins in " $1; bad = 1 } } END { exit bad || n < 10 }' "$TMP/out" || fail "names and stacks"
exit 0
