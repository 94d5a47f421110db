<?php
// SPDX-License-Identifier: MIT
// ns of an empty method call, of fire() and of isEnabled() while nobody traces the probe: for bench/made.py.
$provider = new Usdt\Provider('bench');
$probe = $provider->probe('f', 'n', 'char *', 'int');
$provider->enable();

class EmptyCall {
    function fire($text, $number) {}
}

function shortest(callable $calls, object $object, int $n): float {
    $best = INF;
    for ($turn = 0; $turn < 21; $turn++) {
        $begin = hrtime(true);
        $calls($object, $n);
        $best = min($best, (hrtime(true) - $begin) / $n);
    }
    return $best;
}

function calls_fire(object $object, int $n): void {
    for ($i = 0; $i < $n; $i++) $object->fire('tea', 4);
}

function calls_is_enabled(object $object, int $n): void {
    for ($i = 0; $i < $n; $i++) $object->isEnabled();
}

$n = intdiv((int)$argv[1], 21);
echo shortest('calls_fire', new EmptyCall, $n), ' ', shortest('calls_fire', $probe, $n), ' ', shortest('calls_is_enabled', $probe, $n), "\n";
