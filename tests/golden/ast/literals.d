/* 1.5: characters, strings, escapes. */
BEGIN
{
	'a'; 'ab'; 'abcd'; '\377'; '\0'; '\n'; '\''; '"'; '\"'; '\\'; '\x41'; '\x1ff'; '\q'; 'abcdefgh';
	"";
	"plain";
	"\a\b\f\n\r\t\v\"\\\'\?";
	"\0hidden";
	"\101\7\1234";
	"\x41\x";
	"\q%d\n";
	"/* no comment */ #no pragma";
	"é";
}
