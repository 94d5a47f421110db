# dtrace --core over a C program: mappings, threads, frames and chunks of malloc as the program, /proc and mdb know them; what it refuses.
# @@foreign
exec python3 "$SRC/tests/e2e/core/native.py"
