# Arguments of proc:::create, exit, fault, signal-handle and io:::start at dtrace_user: they tell of what the user's own tasks do, rightly.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/sees_events.py"
