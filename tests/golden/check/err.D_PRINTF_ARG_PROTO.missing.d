BEGIN { printf("%d"); printf("%d %s", 1); @a[1] = count(); printa("%d %d %@d", @a); }
