# mdb shows the tasks of asyncio as the program itself knows them: CPython 3.8 to 3.13, each that is installed.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/tasks_python.py"
