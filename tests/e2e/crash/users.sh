# A user who is not root sees the crashes of their own programs, and nothing of others, whatever they ask the server.
# @@exclusive
# @@needs: kernel
exec python3 "$SRC/tests/e2e/crash/users.py"
