#pragma D
#pragma D option
#pragma D option quiet = 1
#pragma D attributes Stable
#pragma D attributes Stable provider p
#pragma D binding 1.0
#pragma D depends_on library
#line
#line x
#pragma D harmful
#pragma D harmful ruby "reason"
#pragma D harmful ruby:cmethod-* "reason"
#pragma D harmful ruby:cmethod-* file=*
#pragma D harmful ruby:cmethod-* libruby "reason"
#pragma D harmful :x file=* "reason"
BEGIN { }
