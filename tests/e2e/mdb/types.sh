# mdb shows values by their types as gdb does: C and C++, separate debug files, declarations, lists, damaged debug information.
# @@foreign
# @@bare
exec python3 "$SRC/tests/e2e/mdb/typed.py"
