# Probes about two tasks (sched:::wakeup, proc:::signal-send, signal-discard) fire where both are the user's, and nowhere else.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/sees_others.py"
