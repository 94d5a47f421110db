# A user who has a level wants the memory of another user's process, and of the command itself.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/attacks_memory.py"
