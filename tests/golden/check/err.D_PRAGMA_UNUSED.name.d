#pragma D attributes Stable/Stable/Common nothing
#pragma D binding "1.0" nobody
#pragma D attributes Stable/Stable/Common x
BEGIN { x = 1; }
