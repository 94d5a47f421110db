# Handles in several threads: ThreadSanitizer sees no access to memory that two of them share without a lock.
# The library is built a second time for that, when it is first needed.
# @@timeout: 1800
# @@full
[ -n "$SANITIZED" ] && exit 67 # one sanitizer excludes the other
log=$TMP/threads.log
if ! ninja -C "$BUILD" tests/unit/threads_tsan >"$log" 2>&1; then
	grep -q 'unknown target' "$log" && exit 67 # the compiler has no ThreadSanitizer
	tail -20 "$log"
	exit 1
fi
# Without a random layout: older sanitizers know only the usual one.
TSAN_OPTIONS="halt_on_error=0 exitcode=66" setarch -R "$BUILD/tests/unit/threads_tsan" >"$TMP/threads.out" 2>&1
status=$?
if [ $status != 0 ] || grep -q 'WARNING: ThreadSanitizer' "$TMP/threads.out"; then
	echo "status $status"
	head -120 "$TMP/threads.out"
	exit 1
fi
