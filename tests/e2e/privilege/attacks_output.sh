# What a session of a user with levels prints: listings, versions, messages, stacks, drops, ends of children. None of it tells of others.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/attacks_output.py"
