# mdb on a terminal edits and completes lines; a process that it holds goes on when it ends, also when it is killed.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/prompt.py"
