# Where frames of the language are missing, the stack says so, and why: a helper has faulted, or the instructions of a walk were used up. The
# messages name the helper's line, the process and the reason (marks.py).
# @@needs: kernel
exec python3 "$SRC/tests/e2e/stack/marks.py"
