/* @@kind: string */ BEGIN / nix == 1 / { trace(foo); }
