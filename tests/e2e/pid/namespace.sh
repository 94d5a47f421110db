# dtrace in a PID namespace of its own (namespace.py).
unshare -pf --mount-proc true 2>/dev/null || { echo "no PID namespaces here"; exit 67; }
exec python3 "$SRC/tests/e2e/pid/namespace.py"
