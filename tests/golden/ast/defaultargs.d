/* 1.9: option defaultargs. */
#pragma D option defaultargs
BEGIN { trace($1); trace($$1); trace($$99); }
