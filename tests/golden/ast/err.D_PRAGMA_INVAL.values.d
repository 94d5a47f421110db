#pragma D attributes Stabel/Stable/Common x
#pragma D attributes Stable/Stable/Common/Common x
#pragma D attributes Stable/Stable/Stable x
#pragma D attributes Stable provider p probes
#pragma D binding "1" x
#pragma D binding "1.5000" x
#pragma D binding "1.0.0.0" x
#pragma D depends_on kernel x
BEGIN { }
