/* @@trigger: funcs */
pid$target:libk:malloc:entry {}
