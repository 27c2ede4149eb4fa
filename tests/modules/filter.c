// SPDX-License-Identifier: MIT
// Filters, and the libraries behind them: which of the two defines a name, and who asks.

#ifndef FILTER_ANSWER
#define FILTER_ANSWER 1
#endif

int filter_answer(void);
int filter_user(void);

#ifdef FILTER_USER
int filter_user(void)
{
	return filter_answer();
}
#else
int filter_answer(void)
{
	return FILTER_ANSWER;
}
#endif
