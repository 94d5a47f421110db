<?php
// SPDX-License-Identifier: MIT
# php.php: the router of php -S, a small blog made of templates; it writes down its own stack at each EVERY-th tick.
declare(ticks=1);
namespace Blog;

const EVERY = 37, MOST = 400000; # bytes

function workload_point() {
    static $calls = 0, $out = null;
    if (++$calls % EVERY)
        return;
    $out ??= fopen('noted', 'a');
    $number = fstat($out)['size']; # a request knows nothing of those before it
    if ($number > MOST)
        return;
    $trace = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    $frames = [];
    foreach ($trace as $i => $call) {
        if (!$i)
            continue;
        $name = strtok($call['class'] ?? '', "\0") . ($call['type'] ?? '') . $call['function'];
        $place = isset($trace[$i - 1]['file']) ? $trace[$i - 1]['file'] . ':' . $trace[$i - 1]['line'] : '[internal function]';
        $frames[] = "$place ($name)";
    }
    $end = end($trace);
    $frames[] = "$end[file]:$end[line] ({main})";
    fwrite($out, sprintf("POINT:%06d %s\n", $number, implode('|', $frames)));
}

interface Node { function render(array $vars): string; }
class Text implements Node {
    function __construct(private string $text) { }
    function render(array $vars): string { return $this->text; }
}
class Name implements Node {
    function __construct(private string $name) { }
    function render(array $vars): string { return htmlspecialchars((string)($vars[$this->name] ?? '')); }
}
class Loop implements Node {
    function __construct(private string $name, private array $body) { }
    function render(array $vars): string {
        return implode('', array_map(function ($item) use ($vars) {
            $text = '';
            foreach ($this->body as $node)
                $text .= $node->render($item + $vars);
            return $text;
        }, $vars[$this->name]));
    }
}
class Template {
    private array $nodes;
    function __construct(string $text) {
        $tokens = preg_split('/(\{\{.*?\}\})/', $text, -1, PREG_SPLIT_DELIM_CAPTURE);
        $this->nodes = $this->parse($tokens);
    }
    private function parse(array &$tokens): array {
        $nodes = [];
        while (($token = array_shift($tokens)) !== null) {
            if (preg_match('/^\{\{each (\w+)\}\}$/', $token, $m))
                $nodes[] = new Loop($m[1], $this->parse($tokens));
            elseif ($token === '{{end}}')
                return $nodes;
            elseif (preg_match('/^\{\{(\w+)\}\}$/', $token, $m))
                $nodes[] = new Name($m[1]);
            else
                $nodes[] = new Text($token);
        }
        return $nodes;
    }
    function render(array $vars): string { return implode('', iterator_to_array($this->parts($vars))); }
    private function parts(array $vars) { foreach ($this->nodes as $node) yield $node->render($vars); }
}

function posts(): array {
    $posts = array_map(fn($i) => ['title' => "Post <$i>", 'comments' => array_map(fn($k) => ['by' => "guest $k"], range(1, 3))], range(1, 5));
    usort($posts, fn($a, $b) => strcmp($b['title'], $a['title']));
    return $posts;
}

if ($_SERVER['REQUEST_URI'] === '/first') {
    file_put_contents('noted', "POINT:000000 \n", FILE_APPEND);
    return;
}
register_tick_function('Blog\workload_point');
try {
    echo (new Template('<h1>{{title}}</h1>{{each posts}}<h2>{{title}}</h2>{{each comments}}<p>{{by}}</p>{{end}}{{end}}'))->render(['title' => 'Blog', 'posts' => posts()]);
} finally {
    unregister_tick_function('Blog\workload_point');
}
