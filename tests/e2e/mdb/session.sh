# Open files and libraries as the program knows them; files of commands, transcripts, and helpers that are loaded.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/session.py"
