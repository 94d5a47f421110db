BEGIN { printa(1); printa("%d", 1); @a[1] = count(); printa(@a[1]); }
