/* @@kind: function  1.7: with -f the last field is the function. */
libc:malloc { }
a:b:c { }
c
