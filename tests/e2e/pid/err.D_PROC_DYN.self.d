pid$pid:libc:malloc:entry {}
