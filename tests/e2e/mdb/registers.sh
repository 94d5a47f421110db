# Registers as gdb has them: of outer frames, where those that are lost are said to be unknown; of floating point and vectors.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/registers.py"
