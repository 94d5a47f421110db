/* Text without double quotes, or in single ones. */
BEGIN /execname == bash/ { exit(0); }
BEGIN /sh == execname || execname != systemd-journald/ { exit(0); }
BEGIN /execname == 'cat' || 'top' == execname/ { exit(0); }
BEGIN /strstr(execname, nginx) == NULL && strstr(execname, 'ng') == NULL/ { exit(0); }
BEGIN /execname == probefnc && execname == a.out && pid == nothing/ { exit(0); }
