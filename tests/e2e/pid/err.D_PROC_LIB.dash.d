/* @@trigger: funcs */
pid$target:libc:-:1139 {}
