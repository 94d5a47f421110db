# Processes that are made with the memory of the one that is patched, at any moment: nothing is written while one of them lives.
exec /usr/bin/python3 "$SRC/tests/hammer/run" "$BUILD" --only relatives --states 0 --minutes 0.15
