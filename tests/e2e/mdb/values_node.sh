# Values, stacks with arguments, a census and references of Node.js in mdb: of a core file, and of a process, which goes on.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/values_node.py"
