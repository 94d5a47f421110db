BEGIN {
	printf("%s", 1);
	printf("%d", "a");
	printf("%hd", 1);
	printf("%ld", 1);
	printf("%c", timestamp);
	printf("%p", "a");
	printf("%s", (char *)arg0);
	printf("%Y", 1);
	printf("%k", 1);
	printf("%P", 1);
	printf("%d", curthread);
	@a["x"] = count();
	printa("%d %@d", @a);
	printa("%s %@s", @a);
}
