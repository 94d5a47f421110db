# Probes of Python programs, made at run time by modules/python, which pip installs.
python=/usr/bin/python3.11
. "$SRC/tests/e2e/usdt/module_common"
[ -x $python ] && $python -c 'import venv, ensurepip' 2>/dev/null && [ -e "$($python -c 'import sysconfig; print(sysconfig.get_config_var("INCLUDEPY"))')/Python.h" ] ||
	{ echo "needs the packages python3-dev and python3-venv"; exit 67; }
module_copy python
# as the guide says, in a new virtual environment; no index: nothing is to be downloaded
$python -m venv clean >out 2>err || fail "the virtual environment"
clean/bin/pip install --disable-pip-version-check --no-index -q --target site tree/modules/python >out 2>err || fail "pip install"
# a source distribution has libusdt with it
(cd tree/modules/python && $python -c 'import wheel_backend; print(wheel_backend.build_sdist("'"$TMP"'"))') >out 2>err || fail "a source distribution"
clean/bin/pip install --disable-pip-version-check --no-index -q "$(tail -1 out)" >out 2>err || fail "pip install of a source distribution"
[ "$(ls site)" = "$(ls site | grep '^usdt')" ] || fail "it installs something else: $(ls site)"
export PYTHONPATH=$TMP/site
(cd tree/modules/python && $python -m unittest test_usdt) >out 2>&1 || fail "its own tests"
cat >app.py <<'END'
import os, sys, usdt

provider = usdt.Provider("shop", "server")
sale = usdt.Probe("sell", "sale-done", "char *", "int")
many = usdt.Probe("count", "many", ["int"] * 4)
provider.add_probe(sale)
provider.add_probe(many)
provider.enable()
seen = int(sale.is_enabled())
print("ready", flush=True)
sys.stdin.readline()
seen += sale.is_enabled()
sale.fire("tea", 4)
sale.fire(["käse 😀", -5])
sale.fire()
sale.fire(17, 18.5)
many.fire(1, 1 << 41, -(1 << 41), 9)
many.fire(True * 5, None, "text", object())
seen += sale.is_enabled()
print("seen", seen, flush=True)
pid = os.fork()
if pid == 0:
    sale.fire("child", 1)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
provider.disable()
provider.remove_probe(sale)
sale.fire("nobody", 1)
late = usdt.Probe("late", "late", "int")
provider.add_probe(late)
provider.enable()
late.fire(1)
print("end", int(sale.is_enabled()))
END
echo child >forks
module_trace $python app.py
