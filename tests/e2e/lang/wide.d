/* Wide characters are of 32 bits, as in user programs (d-language.md 6.3). */
#pragma D option quiet
struct text { wchar_t w[6]; };
this struct text t;
BEGIN
{
	this->t.w[0] = 'G'; this->t.w[1] = 0xfc; this->t.w[2] = 0x20ac; this->t.w[3] = 0x1f600;
	printf("[%ws] [%ls] [%8ws] [%.2ws] %d\n", this->t.w, this->t.w, this->t.w, this->t.w, sizeof(wchar_t));
	printf("[%wc] [%lc] [%3wc]\n", 0x20ac, 0xe4, 'x');
	exit(0);
}
