BEGIN { else x; if x; else y; if (a { b; } else { c; } if (a) else ; }
