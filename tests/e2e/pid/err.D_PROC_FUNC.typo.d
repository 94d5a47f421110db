/* @@trigger: funcs */
pid$target:funcs:f_ad:entry {}
