BEGIN { x = 12abc; y = 0x; z = 1lu; }
