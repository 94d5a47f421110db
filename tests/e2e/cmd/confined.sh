# Containers: what they lack is named, one thing at a time, with how it is given; with what the guide lists, dtrace works.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/cmd/confined.py"
