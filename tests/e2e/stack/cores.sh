# A process of each runtime, and the core file that was made of it: --helpertrace prints the same stack of both, frame for frame, with
# the names of native functions (cores.py).
# @@foreign
exec python3 "$SRC/tests/e2e/stack/cores.py"
