# Strings of 64 KiB, and many.
exec python3 "$SRC/tests/e2e/stress/stress.py" strings_64k strings_self strings consts
