# Clauses about threads in a process that has several: in the process, or as uprobes where the number of a thread is not found.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/threads.py"
