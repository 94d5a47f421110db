# copyout() and copyoutstr() write to the process, or are refused with the reason.
cat >"$TMP/read.py" <<'EOF'
import ctypes
libc = ctypes.CDLL(None)
buf = ctypes.create_string_buffer(b"before--", 16)
libc.write(-1, buf, 777)
print(buf.raw[:9])
EOF
"$DTRACE" -qw -n 'syscall::write:entry /pid == $target && arg2 == 777/ { copyout((void *)execname, arg1, 2); copyoutstr("xyz", arg1 + 4, 100); }' \
	-c "python3 $TMP/read.py" >"$TMP/out" 2>"$TMP/err"
status=$?
if grep -q 'refuses bpf_probe_write_user()' "$TMP/err"; then
	[ $status = 1 ] && grep -q '^hint: ' "$TMP/err"
	exit
fi
grep -q "b'pyfoxyz.x00.x00'" "$TMP/out" || { cat "$TMP/out" "$TMP/err"; exit 1; }
