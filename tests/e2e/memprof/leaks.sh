# memprof leaks: exactly the blocks that programs have lost, by size and class of C++, of processes and core files; allocators that are not known.
# @@foreign
exec /usr/bin/python3 "$SRC/tests/e2e/memprof/leaks.py"
