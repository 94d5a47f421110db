# mdb shows the frames of Python between those of the interpreter, in text and JSON, of each thread of a process that it holds; which goes on.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/language.py"
