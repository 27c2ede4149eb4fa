// SPDX-License-Identifier: MIT
// --top: what the interpreters of a process are doing, again and again on a terminal.
//
// Memory, states and calls are counters in the process (struct gorgon_debug_usage, struct
// gorgon_debug_activity), which change while they are read, each by itself. Processor time is the
// kernel's, of the interpreter's main thread and of the threads that its code has started: what two
// looks differ by is divided by the time between them. A core has counters and no kernel, and a
// process of an older libgorgon has neither counters nor owners of threads: what is not known is
// "-", in JSON null.

#define _GNU_SOURCE
#include "symdump.h"

#include <inttypes.h>
#include <json.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_MS   1000
#define FIRST_MS   500 // between the two looks when only one is printed

// One thread of an interpreter.
struct spent {
	pid_t tid;
	uint64_t ns;
};

struct top_row {
	const struct namespace *ns;
	struct gorgon_debug_usage usage;
	struct gorgon_debug_activity activity;
	bool has_usage, has_activity;
	char *label, *job; // "": none
	size_t thread_count;
	uint64_t cpu_ns;   // of its threads that are alive
	uint64_t spent_ns; // since the look before
};

// What all interpreters were doing at one moment.
struct look {
	struct snapshot snapshot;
	struct top_row *rows;
	size_t count;
	struct spent *threads;
	size_t thread_count;
	// CLOCK_MONOTONIC, as the process has it; 0: a core, whose clock is not known
	uint64_t time;
};

static uint64_t top_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

// --- one look ------------------------------------------------------------------------------

// Processor time of a thread. False: it has gone, or the kernel does not count.
static bool read_spent(pid_t pid, pid_t tid, uint64_t *ret)
{
	char name[64];
	FILE *file;
	bool found;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/schedstat", pid, tid);
	file = fopen(name, "re");
	if (!file)
		return false;
	found = fscanf(file, "%" SCNu64, ret) == 1;
	fclose(file);
	return found;
}

static uint64_t spent_before(const struct look *before, pid_t tid)
{
	for (size_t i = 0; before && i < before->thread_count; i++)
		if (before->threads[i].tid == tid)
			return before->threads[i].ns;
	return 0;
}

static void add_thread(const struct target *target, struct look *look, const struct look *before,
		       struct top_row *row, uint64_t tid)
{
	uint64_t ns, earlier;

	if (!target->pid || !tid || tid > INT32_MAX || !read_spent(target->pid, (pid_t)tid, &ns))
		return;
	look->threads = grow(look->threads, look->thread_count, sizeof(*look->threads));
	look->threads[look->thread_count++] = (struct spent){(pid_t)tid, ns};
	earlier = spent_before(before, (pid_t)tid);
	row->thread_count++;
	row->cpu_ns += ns;
	row->spent_ns += ns > earlier ? ns - earlier : 0;
}

static struct top_row *row_of(const struct look *look, uint64_t ns_addr)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->rows[i].ns->addr == ns_addr)
			return &look->rows[i];
	return NULL;
}

static void read_rows(const struct target *target, struct look *look, const struct look *before)
{
	const struct snapshot *snapshot = &look->snapshot;

	look->rows = zalloc(snapshot->ns_count + 1, sizeof(*look->rows));
	for (size_t i = 0; i < snapshot->ns_count; i++) {
		const struct namespace *ns = &snapshot->namespaces[i];
		struct top_row *row = &look->rows[look->count];

		if (ns->interp == GORGON_DEBUG_NO_INTERP)
			continue;
		look->count++;
		row->ns = ns;
		row->has_usage = ns->usage &&
				 target_read(target, ns->usage, &row->usage, sizeof(row->usage));
		if ((int64_t)row->usage.extension_bytes < 0) // the threads have more to tell
			row->usage.extension_bytes = 0;
		row->has_activity =
			ns->activity &&
			target_read(target, ns->activity, &row->activity, sizeof(row->activity));
		row->label = snapshot_text(target, ns->label);
		row->job = snapshot_text(target, ns->job);
		add_thread(target, look, before, row, ns->thread);
	}
	for (size_t i = 0; i < snapshot->thread_count; i++) {
		const struct started_thread *thread = &snapshot->threads[i];
		struct top_row *row = row_of(look, thread->ns);

		if (row && thread->tid != row->ns->thread)
			add_thread(target, look, before, row, thread->tid);
	}
}

static bool top_take(struct target *target, struct look *look, const struct look *before)
{
	*look = (struct look){.time = target->pid ? top_now() : 0};
	if (!snapshot_take(target, 0, &look->snapshot))
		return false;
	read_rows(target, look, before);
	return true;
}

static void look_deinit(struct look *look)
{
	for (size_t i = 0; i < look->count; i++) {
		free(look->rows[i].label);
		free(look->rows[i].job);
	}
	free(look->rows);
	free(look->threads);
	snapshot_deinit(&look->snapshot);
	*look = (struct look){0};
}

// --- what people read ----------------------------------------------------------------------

static const char *state_name(const struct top_row *row)
{
	static const char *const names[] = {"created",  "running", "starting", "started",
					    "stopping", "ending",  "ended",    "abandoned"};

	if (!row->has_activity)
		return "-";
	return row->activity.state < sizeof(names) / sizeof(*names) ? names[row->activity.state]
								    : "?";
}

static uint64_t top_held(const struct top_row *row)
{
	return row->usage.heap_bytes + row->usage.mapped_bytes + row->usage.extension_bytes +
	       row->usage.block_bytes;
}

static void size_text(bool known, uint64_t bytes, char *text, size_t size)
{
	if (!known)
		snprintf(text, size, "-");
	else if (bytes < 10u << 20)
		snprintf(text, size, "%luK", bytes >> 10);
	else
		snprintf(text, size, "%luM", bytes >> 20);
}

static void age_text(const struct look *look, const struct top_row *row, char *text, size_t size)
{
	uint64_t end = row->activity.end_ns ?: look->time, seconds;

	if (!look->time || !row->has_activity || !row->activity.start_ns ||
	    end < row->activity.start_ns) {
		snprintf(text, size, "-");
		return;
	}
	seconds = (end - row->activity.start_ns) / 1000000000u;
	snprintf(text, size, "%lu:%02lu:%02lu", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

// The busiest first, then by number, as the list has them.
static int top_compare(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	if (x->spent_ns != y->spent_ns)
		return x->spent_ns < y->spent_ns ? 1 : -1;
	return x->ns->interp < y->ns->interp ? -1 : x->ns->interp > y->ns->interp;
}

static const struct top_row *find_before(const struct look *before, const struct top_row *row)
{
	for (size_t i = 0; before && i < before->count; i++)
		if (before->rows[i].ns->id == row->ns->id && before->rows[i].has_activity &&
		    row->has_activity)
			return &before->rows[i];
	return NULL;
}

static void print_row(const struct look *look, const struct look *before, const struct top_row *row,
		      const char *eol)
{
	const struct top_row *earlier = find_before(before, row);
	double elapsed = before ? (double)(look->time - before->time) : 0;
	char cpu[16] = "-", wait[16] = "-", calls[24] = "-", memory[24], limit[24], age[32];

	if (elapsed && row->thread_count)
		snprintf(cpu, sizeof(cpu), "%.1f", 100.0 * (double)row->spent_ns / elapsed);
	if (elapsed && earlier)
		snprintf(wait, sizeof(wait), "%.1f",
			 100.0 *
				 (double)(row->activity.gil_wait_ns -
					  earlier->activity.gil_wait_ns) /
				 elapsed);
	if (row->has_activity)
		snprintf(calls, sizeof(calls), "%lu", row->activity.call_count);
	size_text(row->has_usage, top_held(row), memory, sizeof(memory));
	size_text(row->has_usage && row->usage.limit, row->usage.limit, limit, sizeof(limit));
	age_text(look, row, age, sizeof(age));
	printf("%s%5u%s  3.%-4u  %-9s  %7zu  %6s  %6s  %9s  %8s  %8s  %8s%s%s%s%s%s\n",
	       interp_begin(), row->ns->interp, colour_end(), row->ns->python_minor,
	       state_name(row), row->thread_count, cpu, wait, calls, memory, limit, age,
	       *row->label || *row->job ? "  " : "", row->label,
	       *row->label && *row->job ? ": " : "", row->job, eol);
}

// @eol ends each line; at most @rows interpreters.
static void print_look(struct look *look, const struct look *before, const char *name, size_t rows,
		       const char *eol)
{
	printf("%s: interpreters: %zu%s\n%s\n", name, look->count, eol, eol);
	printf("%s%5s  %-6s  %-9s  %7s  %6s  %6s  %9s  %8s  %8s  %8s  %s%s%s\n", heading_begin(),
	       "Num", "Python", "State", "Threads", "CPU%", "Wait%", "Calls", "Memory", "Limit",
	       "Time", "Job", colour_end(), eol);
	qsort(look->rows, look->count, sizeof(*look->rows), top_compare);
	for (size_t i = 0; i < look->count && i < rows; i++)
		print_row(look, before, &look->rows[i], eol);
}

// --- what programs read --------------------------------------------------------------------

static void add_known(struct json_object *to, const char *name, bool known, uint64_t value)
{
	json_object_object_add(to, name, known ? json_object_new_uint64(value) : NULL);
}

static struct json_object *row_json(const struct look *look, const struct top_row *row)
{
	struct json_object *ret = json_object_new_object();
	const struct gorgon_debug_activity *activity = &row->activity;
	bool started = row->has_activity && activity->start_ns && look->time >= activity->start_ns;
	char python[16];

	json_add_namespace(ret, "id", &look->snapshot,
			   (size_t)(row->ns - look->snapshot.namespaces));
	snprintf(python, sizeof(python), "3.%u", row->ns->python_minor);
	json_add_string(ret, "python", python);
	json_add_string(ret, "state", row->has_activity ? state_name(row) : NULL);
	json_add_string(ret, "label", *row->label ? row->label : NULL);
	json_add_string(ret, "job", *row->job ? row->job : NULL);
	add_known(ret, "time_ns", started, (activity->end_ns ?: look->time) - activity->start_ns);
	add_known(ret, "threads", row->thread_count, row->thread_count);
	add_known(ret, "thread_cpu_ns", row->thread_count, row->cpu_ns);
	add_known(ret, "calls", row->has_activity, activity->call_count);
	add_known(ret, "call_cpu_ns", row->has_activity, activity->call_ns);
	add_known(ret, "gil_wait_ns", row->has_activity, activity->gil_wait_ns);
	add_known(ret, "memory", row->has_usage, top_held(row));
	add_known(ret, "heap", row->has_usage, row->usage.heap_bytes);
	add_known(ret, "mapped", row->has_usage, row->usage.mapped_bytes);
	add_known(ret, "extensions", row->has_usage, row->usage.extension_bytes);
	add_known(ret, "blocks", row->has_usage, row->usage.block_bytes);
	add_known(ret, "memory_limit", row->has_usage && row->usage.limit, row->usage.limit);
	return ret;
}

static int print_once_json(struct dump *dump)
{
	struct look look;

	if (!top_take(&dump->target, &look, NULL))
		return STATUS_NO_TARGET;
	json_begin(dump, "gorgon-symdump-top", "interpreters");
	for (size_t i = 0; i < look.count; i++)
		json_print_item(row_json(&look, &look.rows[i]), !i);
	json_end_list();
	json_end();
	look_deinit(&look);
	return STATUS_OK;
}

// --- the terminal --------------------------------------------------------------------------

static volatile sig_atomic_t ended;

static void top_end(int number)
{
	(void)number;
	ended = 1;
}

static size_t screen_rows(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 6)
		return 20;
	return size.ws_row - 4u;
}

// Wait for the next look. True: the user has pressed q, or a signal came.
static bool is_enough(int ms)
{
	struct pollfd input = {STDIN_FILENO, POLLIN, 0};
	char key = 0;

	if (poll(&input, isatty(STDIN_FILENO), ms) == 1 && read(STDIN_FILENO, &key, 1) == 1 &&
	    key == 'q')
		return true;
	return ended;
}

// Until the user or the process ends it.
static int top_refresh(struct dump *dump)
{
	struct look before = {0}, look;
	struct sigaction action = {.sa_handler = top_end};
	struct termios usual, raw;
	bool is_raw = !tcgetattr(STDIN_FILENO, &usual);
	bool there;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (is_raw) {
		raw = usual;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	printf("\033[?1049h");
	while ((there = top_take(&dump->target, &look, before.time ? &before : NULL))) {
		printf("\033[H");
		print_look(&look, before.time ? &before : NULL, dump->target.name, screen_rows(),
			   "\033[K");
		printf("\033[J");
		fflush(stdout);
		look_deinit(&before);
		before = look;
		if (is_enough(PAUSE_MS))
			break;
	}
	printf("\033[?1049l");
	if (is_raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &usual);
	// The last look stays to be read.
	if (!there)
		look_deinit(&look);
	print_look(&before, NULL, dump->target.name, SIZE_MAX, "");
	look_deinit(&before);
	if (!there)
		printf("%s has ended\n", dump->target.name);
	return STATUS_OK;
}

int print_top(struct dump *dump)
{
	struct look before, look;

	if (dump->json)
		return print_once_json(dump);
	if (dump->target.pid && isatty(STDOUT_FILENO))
		return top_refresh(dump);
	if (!top_take(&dump->target, &before, NULL))
		return STATUS_NO_TARGET;
	if (!dump->target.pid) {
		print_look(&before, NULL, dump->target.name, SIZE_MAX, "");
		look_deinit(&before);
		return STATUS_OK;
	}
	poll(NULL, 0, FIRST_MS);
	if (top_take(&dump->target, &look, &before))
		print_look(&look, &before, dump->target.name, SIZE_MAX, "");
	look_deinit(&look);
	look_deinit(&before);
	return STATUS_OK;
}
