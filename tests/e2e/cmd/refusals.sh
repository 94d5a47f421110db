# One message with reason and remedy when tracing is not permitted.
su nobody -s /bin/sh -c "$DTRACE -n BEGIN" >/dev/null 2>"$TMP/err"
status=$?
[ $status = 1 ] || [ $status = 126 ] || { echo "status $status"; exit 1; }
[ $status = 126 ] && { echo "the build folder is not readable for others"; exit 67; }
grep -q '^dtrace: failed to initialize dtrace: ' "$TMP/err" && grep -q 'root\|CAP_BPF' "$TMP/err" || { cat "$TMP/err"; exit 1; }
