# mdb says who holds an object, up to a variable or a module, and which threads Python, Ruby and Node.js have, as the programs themselves know.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/holders.py"
