pid$nope:::entry { }
tick-$1 { }
$target-x:a:b:c { }
