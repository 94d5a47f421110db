pid999999999:libc:malloc:entry {}
