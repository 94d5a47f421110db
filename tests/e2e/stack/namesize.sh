# @@needs: kernel
# @@exclusive
# Large programs that are replaced again and again: the memory for names has a bound (namesize.py).
exec python3 tests/e2e/stack/namesize.py
