# memprof holds: chains from the roots that programs have made to their objects, in C++ and languages, by type and by address.
# @@foreign
exec /usr/bin/python3 "$SRC/tests/e2e/memprof/holds.py"
