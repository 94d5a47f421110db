BEGIN { for (i = 0; i < 10; i++) { trace(i); } while (1) ; return 0; switch (x) { case 1: break; } do { x; y; } while (z); trace(; }
