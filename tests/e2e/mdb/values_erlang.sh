# mdb shows the terms, processes and stacks of an Erlang program as Erlang itself does: Erlang/OTP 25 or 27, whichever is installed.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/values_erlang.py"
