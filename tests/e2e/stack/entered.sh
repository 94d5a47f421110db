# Stacks of CPython at each of the first instructions of the interpreter loop, before and after its frame is the thread's: all have the frames of the
# callers, and in the right places.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/stack/entered.py"
