<?php
// SPDX-License-Identifier: MIT
// What can be tested without a tracer: php -d extension=./modules/usdt.so test.php
function fails(string $error, callable $f): void {
    try {
        $f();
    } catch (Throwable $e) {
        if (!($e instanceof $error) || $e->getMessage() === '') throw $e;
        return;
    }
    throw new Exception("no $error");
}

function make(string ...$types): array {
    $provider = new Usdt\Provider('test', 'mod');
    $probe = $provider->probe('func', 'name', ...$types);
    $provider->enable();
    return [$provider, $probe];
}

[$provider, $probe] = make('char *', 'int');
if ($probe->isEnabled() !== false) throw new Exception('it is traced');
foreach ([[], ['a', 1], [1, 'a'], [null, new stdClass], ['a', 1, 2], [true, NAN], [[], []]] as $args)
    if ($probe->fire(...$args) !== null) throw new Exception('fire');
make(...array_fill(0, 32, 'int'));
fails('ValueError', fn() => make(...array_fill(0, 33, 'int')));
fails('TypeError', fn() => $provider->probe('func', 'name', []));
fails('ArgumentCountError', fn() => $provider->probe('func'));
fails('Error', fn() => new Usdt\Probe);
fails('Error', fn() => clone $probe);
fails('Usdt\Error', fn() => $provider->__construct('again'));
fails('Usdt\Error', fn() => $provider->removeProbe($probe)); // it is enabled
$provider->disable();
$provider->removeProbe($probe);
fails('Usdt\Error', fn() => $provider->removeProbe($probe));
$probe->fire('a', 1);
unset($provider);
$probe->fire('a', 1);
for ($i = 0; $i < 200; $i++) {
    $many = new Usdt\Provider('many');
    for ($n = 0; $n < 20; $n++) $many->probe('f', "p$n", 'int');
    $many->enable();
}
unset($many);
if (count(scandir('/proc/self/fd')) > 50) throw new Exception('descriptors');
echo "passed\n";
