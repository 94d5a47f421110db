# What no thread runs: fibers of Ruby and PHP, generators, coroutines of Lua, LuaJIT and Python, processes of Erlang, in "dtrace --pstack -x
# pstacktasks" and mdb's ::lfibers, as the languages themselves tell of their stacks; of processes that live, and of core files.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/parked.py"
