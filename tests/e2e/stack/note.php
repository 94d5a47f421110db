<?php
// SPDX-License-Identifier: MIT
# For tests of PHP's stacks: writes a debug_backtrace() to the file $out, in one line, as jstack() shows these frames. A frame of the
# backtrace has the position that it was called from, which is in the frame that called it: so each is shown with the one before it.
function note(array $trace) {
    global $out;
    $frames = [];
    foreach ($trace as $i => $call) {
        if (!$i)
            continue;
        # PHP shows the name of a class without a name up to its NUL
        $name = strtok($call['class'] ?? '', "\0") . ($call['type'] ?? '') . $call['function'];
        $place = isset($trace[$i - 1]['file']) ? $trace[$i - 1]['file'] . ':' . $trace[$i - 1]['line'] : '[internal function]';
        $frames[] = "$place ($name)";
    }
    $end = end($trace);
    $frames[] = "$end[file]:$end[line] ({main})";
    fwrite($out, implode('|', $frames) . "\n");
    fflush($out);
}
