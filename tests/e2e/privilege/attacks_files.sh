# A user who has a level attacks by the files that the command opens.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/attacks_files.py"
