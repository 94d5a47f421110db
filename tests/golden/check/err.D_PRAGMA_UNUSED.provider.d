#pragma D attributes Stable/Stable/Common provider nix args
BEGIN { trace(1); }
