/* @@trigger: funcs */
pid$target:funcs:f_fixed:1 {}
