/* SPDX-License-Identifier: MIT */
/* A C++17 inline variable: one object however many libraries define it (GNU_UNIQUE). */
#ifndef MODULES_UNIQUE_H
#define MODULES_UNIQUE_H

struct unique {
	inline static int counter = 100;
};

#endif
