# What is said about names of other systems: what they stand for, once, unless quiet; what Linux has instead.
"$DTRACE" -n 'syscall::open:entry, syscall::open:return, syscall::exece:entry, syscall::read:entry {}' -n 'BEGIN { exit(0); }' 2> "$TMP/err" > /dev/null || exit 1
grep stands "$TMP/err" > "$TMP/notices"
diff "$TMP/notices" - <<END || exit 1
dtrace: system call 'open' of 'syscall::open:entry' stands for open, openat, openat2, creat
dtrace: system call 'exece' of 'syscall::exece:entry' stands for execve, execveat
END
"$DTRACE" -qn 'syscall::open:entry {} BEGIN { exit(0); }' 2> "$TMP/err" > /dev/null || exit 1
grep stands "$TMP/err" && exit 1
# nor is a name that only a declared probe is made of
"$DTRACE" -n 'fsinfo:::open, fsinfo:::readdir {} BEGIN { exit(0); }' 2> "$TMP/err" > /dev/null || exit 1
grep stands "$TMP/err" && exit 1
"$DTRACE" -n 'fsinfo:::open, syscall::open:return {} BEGIN { exit(0); }' 2> "$TMP/err" > /dev/null || exit 1
[ "$(grep -c stands "$TMP/err")" = 1 ] || { cat "$TMP/err"; exit 1; }
"$DTRACE" -n 'syscall::kevent:entry {}' 2> "$TMP/err" && exit 1
grep -q 'hint: programs on Linux call epoll_wait' "$TMP/err" || { cat "$TMP/err"; exit 1; }
# the listing has each call once, under the name of Linux
"$DTRACE" -l -P syscall | awk 'NR > 1 { n[$4 ":" $5]++ } END { for (i in n) if (n[i] != 1) { print i, n[i]; exit 1 } }' || exit 1
"$DTRACE" -l -P syscall | grep -e 'open64 ' -e nocancel -e lx-syscall && exit 1
exit 0
