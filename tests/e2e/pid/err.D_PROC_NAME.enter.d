/* @@trigger: funcs */
pid$target:funcs:f_add:enter {}
