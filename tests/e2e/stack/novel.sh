# The first stack of hundreds of functions, no two of which are the same, is whole: jstack() has read none of its frames before (novel.py).
# @@needs: kernel
exec python3 "$SRC/tests/e2e/stack/novel.py"
