# The same helpers over the same stack, in the kernel and in the interpreter of DIF: a process of each runtime stops where jstack() was
# recorded, and the stack of --helpertrace is the same, frame for frame. What the trace says of each clause; the process goes on as before
# (replayed.py).
# @@foreign
command -v cc >/dev/null || exit 67
exec python3 "$SRC/tests/e2e/stack/replayed.py"
