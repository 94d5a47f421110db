/* @@trigger: funcs */
pid$target:lib*:-:1139 {}
