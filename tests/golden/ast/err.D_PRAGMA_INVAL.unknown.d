#pragma D nonsense 1
BEGIN { }
