#pragma D option quite
#pragma D option nosuch=1
BEGIN { }
