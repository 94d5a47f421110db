# All functions of libc, patched and taken back under a program that checks its results (tests/hammer/run, which has the long
# version); some hundred windows of libc, executed beside their stubs.
exec /usr/bin/python3 "$SRC/tests/hammer/run" "$BUILD" --short
