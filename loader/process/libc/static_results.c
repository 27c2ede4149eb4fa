// SPDX-License-Identifier: MIT
// State that single functions of the C library keep: the position of strtok(), the results of
// localeconv(), l64a(), ecvt() and the like. Each namespace has its own.
//
// The C library's localeconv() fills a structure of the process, so ours is filled item by item.
// strerror(), strsignal() and inet_ntoa() are not here: the C library keeps their results for each
// thread.

#define _GNU_SOURCE
#include "process/part.h"

#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct small {
	char *rest; // where strtok() goes on
	struct lconv convention;
};

static char *next_token(char *text, const char *delimiters, struct small *state)
{
	return strtok_r(text, delimiters, &state->rest);
}

// --- localeconv()
// ---------------------------------------------------------------------------------

static char number_of(nl_item item)
{
	char number = *nl_langinfo(item);

	return number == '\377' ? CHAR_MAX : number;
}

// Without grouping the text is empty.
static char *grouping_of(nl_item item)
{
	char *grouping = nl_langinfo(item);

	return *grouping == CHAR_MAX || *grouping == '\377' ? "" : grouping;
}

static struct lconv *get_convention(struct small *state)
{
	state->convention = (struct lconv){
		.decimal_point = nl_langinfo(RADIXCHAR),
		.thousands_sep = nl_langinfo(THOUSEP),
		.grouping = grouping_of(__GROUPING),
		.int_curr_symbol = nl_langinfo(__INT_CURR_SYMBOL),
		.currency_symbol = nl_langinfo(__CURRENCY_SYMBOL),
		.mon_decimal_point = nl_langinfo(__MON_DECIMAL_POINT),
		.mon_thousands_sep = nl_langinfo(__MON_THOUSANDS_SEP),
		.mon_grouping = grouping_of(__MON_GROUPING),
		.positive_sign = nl_langinfo(__POSITIVE_SIGN),
		.negative_sign = nl_langinfo(__NEGATIVE_SIGN),
		.int_frac_digits = number_of(__INT_FRAC_DIGITS),
		.frac_digits = number_of(__FRAC_DIGITS),
		.p_cs_precedes = number_of(__P_CS_PRECEDES),
		.p_sep_by_space = number_of(__P_SEP_BY_SPACE),
		.n_cs_precedes = number_of(__N_CS_PRECEDES),
		.n_sep_by_space = number_of(__N_SEP_BY_SPACE),
		.p_sign_posn = number_of(__P_SIGN_POSN),
		.n_sign_posn = number_of(__N_SIGN_POSN),
		.int_p_cs_precedes = number_of(__INT_P_CS_PRECEDES),
		.int_p_sep_by_space = number_of(__INT_P_SEP_BY_SPACE),
		.int_n_cs_precedes = number_of(__INT_N_CS_PRECEDES),
		.int_n_sep_by_space = number_of(__INT_N_SEP_BY_SPACE),
		.int_p_sign_posn = number_of(__INT_P_SIGN_POSN),
		.int_n_sign_posn = number_of(__INT_N_SIGN_POSN),
	};
	return &state->convention;
}

// --- the part ------------------------------------------------------------------------------------

// Its texts are the C library's, which stay.
static bool small_copy(void *to, const void *from, gorgon_moved_fn *moved, void *ctx)
{
	struct small *state = to;

	*state = *(const struct small *)from;
	state->rest = moved(ctx, state->rest);
	return true;
}

#define OWN(name, target, args, reason) {name, target, args, 0, GORGON_OWN, reason}

static const struct gorgon_bound bound[] = {
	OWN("strtok", next_token, 2, "goes on in the program's own text"),
	OWN("localeconv", get_convention, 0, "is not the result of another program's locale"),
};

const struct gorgon_part gorgon_static_results = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct small),
	.copy = small_copy,
};
