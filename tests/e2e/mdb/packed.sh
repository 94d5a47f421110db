# mdb reads compressed core files as if they were not (so does dtrace --pstack), tells where a stream is damaged, and fills no file system.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/packed.py"
