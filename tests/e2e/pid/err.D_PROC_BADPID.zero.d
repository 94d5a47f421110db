pid0:libc:malloc:entry {}
