# The session that users of MDB know, from `fork::dis` to `::jsstack -v`, in its order over a core file of Node.js: what it prints has the forms
# of MDB, and the values are those that the program, its libraries and the core file have.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/appendix.py"
