# Probes that are made at run time, by several threads: ThreadSanitizer sees no access that two of them share without a lock.
# @@timeout: 900
[ -n "$SANITIZED" ] && exit 67 # one sanitizer excludes the other
log=$TMP/ninja.log
if ! ninja -C "$BUILD" tests/unit/libusdt_tsan >"$log" 2>&1; then
	grep -q 'unknown target' "$log" && exit 67 # the compiler has no ThreadSanitizer
	tail -20 "$log"
	exit 1
fi
# Without a random layout: older sanitizers know only the usual one.
TSAN_OPTIONS="halt_on_error=0 exitcode=66" setarch -R "$BUILD/tests/unit/libusdt_tsan" >"$TMP/out" 2>&1
status=$?
if [ $status != 0 ] || grep -qE 'WARNING: ThreadSanitizer|^not ok' "$TMP/out"; then
	echo "status $status"
	grep -v '^ok' "$TMP/out" | head -120
	exit 1
fi
