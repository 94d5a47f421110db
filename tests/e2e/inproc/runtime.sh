# Probes of runtimes (python, ruby, php, node), by uprobes and in the process: the same counts and arguments.
# @@needs: even_tsc
command -v python3 >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/runtime.py"
