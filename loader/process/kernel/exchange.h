/* SPDX-License-Identifier: MIT */
/* Descriptors handed on between tables: functions of gorgon/descriptors.h; see exchange.c. */
#ifndef GORGON_PROCESS_EXCHANGE_H
#define GORGON_PROCESS_EXCHANGE_H

#include "process/part.h"

extern const struct gorgon_part gorgon_exchange_part;

#endif
