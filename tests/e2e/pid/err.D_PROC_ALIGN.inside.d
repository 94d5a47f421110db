/* @@trigger: funcs */
pid$target:funcs:f_ten:1 {}
