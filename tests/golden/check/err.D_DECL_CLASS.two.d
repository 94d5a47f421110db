self this int c;
