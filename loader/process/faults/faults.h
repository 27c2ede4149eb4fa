/* SPDX-License-Identifier: MIT */
/* The report of a fault. See faults.c. */
#ifndef GORGON_PROCESS_FAULTS_H
#define GORGON_PROCESS_FAULTS_H

#include "gorgon.h"

#include <signal.h>

struct gorgon_signals;

/* What @opts says is done by the next report. No report is under way. */
void gorgon_faults_set(const struct gorgon_fault_opts *opts);

/* Whether the host wants to survive faults of private code. */
bool gorgon_faults_survived(void);

/* Report a fault of this thread, in the handler of its signal. Does not return if the host wants
 * the process to go on, and it can. @view: of the interpreter whose code runs on this thread, or
 * NULL. While another thread reports, this one waits, some seconds at most. */
void gorgon_fault_report(int number, const siginfo_t *info, const void *context,
			 const struct gorgon_signals *view);

/* A fault of the code that makes the report: this does not return when the fault is on the thread
 * that reports. */
void gorgon_fault_recover(void);

/* Call a function that may read what is damaged. False: it had a fault, and has ended there. Only
 * while faults are reported; without that a fault ends the process. Safe in signal handlers. */
bool gorgon_fault_guard(void (*part)(void));

/* Allow the signals that a guarded part may cause, in the handler of one of them. @saved: the
 * mask, to be put back. */
void gorgon_faults_allow(sigset_t *saved);

#endif
