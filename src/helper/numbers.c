/* SPDX-License-Identifier: MIT */
/* Numbers and dates as languages write them. */
#include "helper/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "base/str.h"

/* The value of a number of 16 bits (IEEE 754). */
static double half_value(uint32_t bits)
{
	int exponent = bits >> 10 & 31;
	double fraction = bits & 1023, x;

	if (exponent == 31)
		x = fraction != 0 ? NAN : INFINITY;
	else
		x = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
	return bits >> 15 ? -x : x;
}

/*
 * Without or with an exponent, whichever is shorter: 100.0, 1.0e3; with one from 2^53 on, where not
 * all whole numbers are doubles.
 */
static void double_short_add(struct strbuf *out, double x, int digits)
{
	char text[40], point[64], *e;
	int exponent, decimals;

	snprintf(text, sizeof(text), "%.*e", digits - 1, x);
	e = strchr(text, 'e');
	exponent = (int)strtol(e + 1, NULL, 10);
	snprintf(e, sizeof(text) - (size_t)(e - text), "%se%d", digits == 1 ? ".0" : "", exponent);
	decimals = MAX(digits - 1 - exponent, 1);
	if (fabs(x) >= 9007199254740992.0 || decimals > 40) {
		strbuf_adds(out, text);
		return;
	}
	snprintf(point, sizeof(point), "%.*f", decimals, x);
	strbuf_adds(out, strlen(point) <= strlen(text) ? point : text);
}

/* A number that needs so many digits, with a point, as in 1.0e+16, 0.0001, 100.0. */
static void float_add(struct strbuf *out, double x, int digits)
{
	char text[40], *e;
	int point;

	snprintf(text, sizeof(text), "%.*e", digits - 1, x);
	e = strchr(text, 'e');
	point = (int)strtol(e + 1, NULL, 10) + 1;
	if (point > -4 && (point <= 15 || point < digits))
		strbuf_addf(out, "%.*f", MAX(digits - point, 1), x);
	else
		strbuf_addf(out, "%.*s%se%+03d", (int)(e - text), text, digits > 1 ? "" : ".0",
			    point - 1);
}

/* As Java writes it, with the fewest digits by which the double or float is known. */
static void java_double_add(struct strbuf *out, double x, bool is_float)
{
	int digits = 0, exponent = 0;
	char text[40];

	if (isnan(x) || isinf(x)) {
		strbuf_adds(out, isnan(x) ? "NaN" : x < 0 ? "-Infinity" : "Infinity");
		return;
	}
	do {
		snprintf(text, sizeof(text), "%.*e", digits, x);
	} while ((is_float ? (double)strtof(text, NULL) : strtod(text, NULL)) != x &&
		 ++digits <= 17);
	if (strchr(text, 'e'))
		exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
	if (fabs(x) >= 1e-3 && fabs(x) < 1e7) {
		strbuf_addf(out, "%.*f", MAX(digits - exponent, 1), x);
		return;
	}
	*strchrnul(text, 'e') = '\0';
	strbuf_addf(out, "%s%s", text, strchr(text, '.') ? "" : ".0");
	if (exponent)
		strbuf_addf(out, "E%d", exponent);
}

/* As short as it can be, and the same number when it is read again. */
void number_double_add(struct strbuf *out, uint64_t bits, uint64_t how)
{
	bool has_point = how == 1;
	char text[40];
	float f;
	double x;
	int digits;

	memcpy(&x, &bits, sizeof(x));
	memcpy(&f, &bits, sizeof(f));
	if (how == 5 || how == 6) {
		java_double_add(out, how == 6 ? (double)f : x, how == 6);
		return;
	}
	if (how == 2)
		x = (double)f;
	if (how == 3)
		x = half_value((uint32_t)bits);
	if (isnan(x)) {
		strbuf_adds(out, has_point ? "nan" : "NaN");
		return;
	}
	if (isinf(x)) {
		strbuf_addf(out, "%s%s", x < 0 ? "-" : "", has_point ? "inf" : "Infinity");
		return;
	}
	for (digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	if (how == 4) {
		double_short_add(out, x, MIN(digits, 17));
		return;
	}
	if (how == 7) {
		float_add(out, x, MIN(digits, 17));
		return;
	}
	if (how == 8) {
		strbuf_addf(out, "%.*g", MAX(digits, 15), x);
		return;
	}
	if (fabs(x) < (has_point ? 1e16 : 1e21) && x == floor(x))
		snprintf(text, sizeof(text), "%.0f", x);
	strbuf_adds(out, text);
	if (has_point && !strpbrk(text, ".e"))
		strbuf_adds(out, ".0");
}

void number_date_add(struct strbuf *out, uint64_t bits, bool is_integer)
{
	double x;
	int64_t ms;
	time_t s;
	struct tm tm;

	memcpy(&x, &bits, sizeof(x));
	if (is_integer)
		x = (double)(int64_t)bits;
	if (!(fabs(x) <= 8.64e15)) {
		strbuf_adds(out, "Invalid Date");
		return;
	}
	ms = (int64_t)x;
	s = (time_t)(ms / 1000 - (ms % 1000 < 0));
	if (!gmtime_r(&s, &tm))
		return;
	strbuf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
		    tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ms - s * 1000));
}
