# Frames have the texts that lie there now: files and functions whose names begin alike and are as long are created and freed, so that each
# lies where another one was. What the program itself says of each of its stacks is what jstack() has recorded (reused.py).
# @@needs: kernel
exec python3 "$SRC/tests/e2e/stack/reused.py"
