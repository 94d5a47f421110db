# The first stack of a process has the frames of its language, whether it ran before the session, is that of -p, or of -c (rare.py).
# @@foreign
exec python3 "$SRC/tests/e2e/stack/rare.py"
