provider shop {
	probe sale(char *, int);
};
