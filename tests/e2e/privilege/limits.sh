# A user with levels gives dtrace little room, and devices and folders where it writes: it ends with a message, by no signal.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/limits.py"
