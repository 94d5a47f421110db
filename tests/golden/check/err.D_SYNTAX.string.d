/* @@kind: string */ BEGIN { trace(1 }
