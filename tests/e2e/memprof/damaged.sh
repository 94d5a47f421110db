# memprof leaks, alive and holds end by themselves, with status 0 or 1, whatever is in a damaged core file.
# @@foreign
exec /usr/bin/python3 "$SRC/tests/e2e/memprof/damaged.py"
