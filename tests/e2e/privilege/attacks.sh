# A user who has a level attacks the command that has capabilities: its environment, descriptors, files, memory, children.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/attacks.py"
