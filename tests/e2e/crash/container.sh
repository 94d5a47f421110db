# The core of a process in a container is written there, too, if that is wanted: with the rights of the process, and nowhere else.
# @@exclusive
# @@needs: kernel
exec python3 "$SRC/tests/e2e/crash/container.py"
