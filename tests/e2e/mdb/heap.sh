# mdb counts the chunks of malloc as malloc itself does, in a core file and in a process: arenas, caches, mmapped chunks; damage is told.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/heap.py"
