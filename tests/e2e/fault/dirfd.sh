# copyinstr(arg0) of openat() is an error that says where the path is.
cd "$TMP" || exit 1
timeout 60 "$DTRACE" -qn 'syscall::openat:entry /pid == $target/ { printf("%s\n", copyinstr(arg0)); }' -c 'cat /dev/null' >out 2>err || { cat err; exit 1; }
grep -q 'invalid address (0x[f]*ffffff9c)' err && grep -q '^hint: this is AT_FDCWD: .* the path in arg1$' err || { cat err; exit 1; }
