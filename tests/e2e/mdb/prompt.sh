# mdb on a terminal edits and completes lines, and ^C gives up a line or ends commands; a process that it holds goes on when it ends, also when it is killed.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/prompt.py"
