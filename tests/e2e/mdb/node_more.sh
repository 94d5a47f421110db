# Functions and their sources, constructors and Buffers of Node.js in mdb, as the program knows them.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/node_more.py"
