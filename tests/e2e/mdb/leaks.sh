# mdb finds exactly the chunks that programs have lost, and none of those that they keep in any of many ways.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/leaks.py"
