BEGIN {
	printf("%y", 1);
	printf("%hhd", 1);
	printf("abc %");
	printf("%d %5.", 1);
	printf("%1.2.3d", 1);
	printf("%**d", 1, 2, 3);
	printf("%.*.d", 1, 2);
	printf("%-%");
	printf("%1$d", 1);
	printf("%99999d", 1);
}
