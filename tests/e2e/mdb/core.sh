# mdb shows of a core file what gdb shows of it: stack, registers, symbols; what it cannot open is one line and status 1.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/core.py"
