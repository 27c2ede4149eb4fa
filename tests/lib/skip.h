/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SKIP_H
#define TESTS_SKIP_H

/* Skip the running case and say why. */
#define skip_because(...)                                                                          \
	do {                                                                                       \
		print_message(__VA_ARGS__);                                            \
		print_message("\n");                                                               \
		skip();                                                                            \
	} while (0)

#ifdef __SANITIZE_THREAD__
#define SKIP_UNDER_TSAN(why) skip_because(why)
#else
#define SKIP_UNDER_TSAN(why) (void)0
#endif

#ifdef __SANITIZE_ADDRESS__
#define SKIP_UNDER_ASAN(why) skip_because(why)
#else
#define SKIP_UNDER_ASAN(why) (void)0
#endif

#endif
