/*
 * Which calls take longer than the argument says?
 * err.D_MACRO_UNDEF.naming.d MILLISECONDS
 */
BEGIN /$1/ { exit(0); }
