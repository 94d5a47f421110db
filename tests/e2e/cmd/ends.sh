# @@exclusive
# Signals end a session within a second, whatever it does (ends.py).
exec python3 "$SRC/tests/e2e/cmd/ends.py"
