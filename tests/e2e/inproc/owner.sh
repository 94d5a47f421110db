# The thread that counts without a lock: exact with signals, threads, vfork(), and with tasks that have its thread pointer.
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/owner.py"
