/* SPDX-License-Identifier: MIT */
/* The time zone of a namespace. See time_zone.c. */
#ifndef GORGON_PROCESS_TIME_ZONE_H
#define GORGON_PROCESS_TIME_ZONE_H

#include <time.h>

struct gorgon_ns;

/* As its code's localtime_r(). */
struct tm *gorgon_time_zone_local(struct gorgon_ns *ns, const time_t *time, struct tm *tm);

#endif
