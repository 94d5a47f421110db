# pstack shows the stacks of all threads: of processes of each runtime, of their core files, in other namespaces; it refuses what has no
# stack, and leaves the process as it was, also when it is killed (pstack.py).
# @@foreign
command -v cc >/dev/null || exit 67
exec python3 "$SRC/tests/e2e/stack/pstack.py"
