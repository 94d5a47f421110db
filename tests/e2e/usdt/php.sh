# Probes of PHP programs, made at run time by modules/php, which phpize builds.
. "$SRC/tests/e2e/usdt/module_common"
command -v php >/dev/null && command -v phpize >/dev/null || { echo "needs the packages php-cli and php-dev"; exit 67; }
module_copy php
(cd tree/modules/php && phpize && ./configure && make && make install INSTALL_ROOT="$TMP/site") >out 2>&1 || fail "building or installing"
grep -i 'usdt_php.*warning' out && fail "warnings"
extension=$(find "$TMP/site" -name usdt.so)
[ -n "$extension" ] || fail "it installs nothing"
php -d extension="$extension" tree/modules/php/test.php >out 2>&1 && grep -q '^passed$' out || fail "its own tests"
rm -rf tree
cat >app.php <<'END'
<?php
$provider = new Usdt\Provider('shop', 'server');
$sale = $provider->probe('sell', 'sale-done', 'char *', 'int');
$many = $provider->probe('count', 'many', 'int', 'int', 'int', 'int');
$provider->enable();
$seen = (int)$sale->isEnabled();
echo "ready\n";
fgets(STDIN);
$seen += (int)$sale->isEnabled();
$sale->fire('tea', 4);
$sale->fire('käse 😀', -5);
$sale->fire();
$sale->fire(17, 18.5);
$many->fire(1, 1 << 41, -(1 << 41), 9);
$many->fire(5, null, 'text', []);
$seen += (int)$sale->isEnabled();
echo "seen $seen\n";
if (function_exists('pcntl_fork')) {
    $pid = pcntl_fork();
    if ($pid == 0) {
        $sale->fire('child', 1);
        exit(0);
    }
    pcntl_waitpid($pid, $status);
    if ($status) exit(1);
}
$provider->disable();
$provider->removeProbe($sale);
$sale->fire('nobody', 1);
$late = $provider->probe('late', 'late', 'int');
$provider->enable();
$late->fire(1);
echo 'end ', (int)$sale->isEnabled(), "\n";
END
php -r 'exit(!function_exists("pcntl_fork"));' && echo child >forks
module_trace php -d extension="$extension" app.php
