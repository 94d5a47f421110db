/* What other tracers and other languages write: the hint says how it is said in D. */
uprobe:/bin/bash:readline { exit(0); }
pid1:shop:shop::Order::price:entry { exit(0); }
shop::Order::price { exit(0); }
pid1:a.out:push_back<int>:entry { exit(0); }
