/* @@trigger: funcs */
/* Without a module: no file with a function of that name has the offset. */
pid$target::f_add:ffff {}
