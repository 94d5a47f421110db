# Each ready-made command as a user who has exactly the levels that its header names, and as one who lacks one of them.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/commands.py"
