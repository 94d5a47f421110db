BEGIN { x = 1 # 2; y = 3 \ 4; z = ; w = $; }
é { }
END { }
