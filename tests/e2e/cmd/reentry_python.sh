# The Python package: what a callback, another thread and the child of a fork must not do is refused, and the session goes on.
# @@timeout: 120
[ -z "$SANITIZED" ] || { echo "a library with sanitizers cannot be loaded into Python"; exit 67; }
PYTHONPATH=$SRC/bindings/python PYTHONDONTWRITEBYTECODE=1 LIBDTRACE=$BUILD/src/cmd/dtrace/libdtrace.so exec python3 "$SRC/tests/e2e/cmd/reentry.py"
