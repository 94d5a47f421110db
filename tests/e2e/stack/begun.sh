# A helper that cannot read where its runtime keeps its state: in stacks without a frame of the runtime's code that is no error, because the
# runtime has not begun; behind such a frame it is one (begun.py).
# @@needs: kernel
command -v cc >/dev/null || exit 67
exec python3 "$SRC/tests/e2e/stack/begun.py"
