# @@exclusive
# Beside 30 processes that compute: stacks are whole and named, ticks, exit(), ^C and SIGTERM are obeyed (busy.py).
exec python3 "$SRC/tests/e2e/stack/busy.py"
