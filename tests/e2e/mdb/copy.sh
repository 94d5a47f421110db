# mdb -S shows a copy of a process, which gdb shows alike, and which has all that was the process's own; the process goes on, also if mdb is killed.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/copied.py"
