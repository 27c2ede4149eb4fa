// SPDX-License-Identifier: MIT
// What a namespace has of the C library's state (loader/process), and what the
// host keeps when interpreters have used theirs.

#define _GNU_SOURCE
#include "calls.h"

#include "ns/ns.h"
#include "process/part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

// --- what the host has ------------------------------------------------------------------------------

// The C library keeps the pointer to the name, which was in the interpreter's memory.
static int log_after_an_interpreter(void *arg)
{
	struct gorgon_interp *interp = start();

	(void)arg;
	run(interp, "import syslog\n"
		    "syslog.openlog('of-an-interpreter', syslog.LOG_PERROR)\n"
		    "syslog.setlogmask(1)\n");
	destroy(interp);
	syslog(LOG_INFO, "of the host");
	return setlogmask(0) == 0xff ? 0 : 1;
}

static void destroy_after_openlog_host_logs_on(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(log_after_an_interpreter, NULL), 0);
}

static void tzset_of_an_interpreter_leaves_the_hosts_clock(void **state)
{
	struct gorgon_interp *interp = start(), *other = start();
	time_t now = 1720000000;
	struct tm before = *localtime(&now), after;

	(void)state;
	run(interp, "import os, time\n"
		    "os.environ['TZ'] = 'XYZ-9:15'\n"
		    "time.tzset()\n"
		    "assert time.localtime(0).tm_gmtoff == 33300, time.localtime(0)\n"
		    "assert time.tzname == ('XYZ', 'XYZ')\n");
	after = *localtime(&now);
	assert_int_equal(after.tm_gmtoff, before.tm_gmtoff);
	assert_string_equal(after.tm_zone, before.tm_zone);
	assert_null(getenv("TZ"));
	run(other, "import os, time\n"
		   "time.tzset()\n"
		   "assert time.tzname[0] != 'XYZ' and 'TZ' not in os.environ\n");
	destroy(interp);
	destroy(other);
}

// The host has given the interpreter an environment, and thereby a time zone: the program need not call tzset().
static void environment_of_an_interpreter_has_its_zone(void **state)
{
	struct gorgon_interp_opts opts = {
		.size = sizeof(opts),
		.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts),
					     .environment = (const char *const[]){"TZ=ABC-1ABD,M3.5.0,M10.5.0", NULL}}};
	struct gorgon_interp *interp = test_interp_start(&opts, NULL);

	(void)state;
	run(interp, "import os, time\n"
		    "assert time.tzname == ('ABC', 'ABD'), time.tzname\n"
		    "assert time.localtime(1720000000).tm_zone == 'ABD'\n"
		    "del os.environ['TZ']\n"
		    "time.tzset()\n"
		    "assert time.tzname[0] != 'ABC', time.tzname\n");
	destroy(interp);
}

#define C_LIBRARY "import ctypes\nfrom ctypes import c_char_p, c_size_t, c_void_p, c_long, c_int, byref\nc = ctypes.CDLL(None)\n"
#define BROKEN_DOWN                                                                                                     \
	"class Tm(ctypes.Structure):\n"                                                                                 \
	"    _fields_ = [(n, c_int) for n in 'sec min hour mday mon year wday yday isdst'.split()] + "                 \
	"[('gmtoff', c_long), ('zone', c_char_p)]\n"                                                                    \
	"    def when(self): return self.year + 1900, self.mon + 1, self.mday, self.hour, self.min, self.sec\n"

// Functions that Python's module time does not call.
static void times_are_read_and_written_in_the_interpreters_zone(void **state)
{
	struct gorgon_interp_opts opts = {
		.size = sizeof(opts),
		.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts),
					     .environment = (const char *const[]){"TZ=ABC5", NULL}}};
	struct gorgon_interp *interp = test_interp_start(&opts, NULL);

	(void)state;
	run(interp, C_LIBRARY BROKEN_DOWN
	    "c.newlocale.restype = c.uselocale.restype = c_void_p\n"
	    "c.ctime_r.restype = c.ctime.restype = c_char_p\n"
	    "c.timegm.restype = c.mktime.restype = c_long\n"
	    "plain = c_void_p(c.newlocale(1 << 6, b'C', None))\n" // LC_ALL
	    "local = 2023, 11, 14, 17, 13, 20\n"
	    "tm = Tm()\n"
	    "c.localtime_r(byref(c_long(1700000000)), byref(tm))\n"
	    "assert tm.when() == local\n"
	    "assert c.mktime(byref(tm)) == 1700000000\n"
	    "text, wide = ctypes.create_string_buffer(100), ctypes.create_unicode_buffer(100)\n"
	    "assert c.strftime(text, 100, b'%Y %H %Z %z %s', byref(tm)) == 28 and text.value == b'2023 17 ABC -0500 1700000000', text.value\n"
	    "assert c.strftime_l(text, 100, b'%H %Z', byref(tm), plain) == 6 and text.value == b'17 ABC'\n"
	    "assert c.wcsftime(wide, 100, '%H %Z', byref(tm)) == 6 and wide.value == '17 ABC'\n"
	    "assert c.wcsftime_l(wide, 100, '%H %z', byref(tm), plain) == 8 and wide.value == '17 -0500'\n"
	    "before = c_void_p(c.uselocale(plain))\n"
	    "assert c.strftime(text, 100, b'%A %Z', byref(tm)) == 11 and text.value == b'Tuesday ABC'\n"
	    "assert c.wcsftime(wide, 100, '%A %Z', byref(tm)) == 11 and wide.value == 'Tuesday ABC'\n"
	    "c.uselocale(before)\n"
	    "seconds = c_long(1700000000)\n"
	    "assert c.ctime_r(byref(seconds), text) == c.ctime(byref(seconds)) == b'Tue Nov 14 17:13:20 2023\\n'\n"
	    "utc = Tm(sec=20, min=13, hour=22, mday=14, mon=10, year=123, isdst=1)\n"
	    "assert c.timegm(byref(utc)) == 1700000000 and (utc.wday, utc.isdst) == (2, 0)\n"
	    "c.freelocale(plain)\n");
	destroy(interp);
}

static void domains_of_an_interpreter_are_its_own(void **state)
{
	struct gorgon_interp *one = start(), *two = start();
	static const char bind[] =
		C_LIBRARY
		"for f in c.bindtextdomain, c.bind_textdomain_codeset, c.textdomain, c.gettext, c.dgettext, c.dcngettext:\n"
		"    f.restype = c_char_p\n"
		"assert c.bind_textdomain_codeset(b'gorgon', None) is None and c.bind_textdomain_codeset(b'', b'UTF-8') is None\n";

	(void)state;
	run(one, bind);
	run(two, bind);
	run(one, "assert c.bindtextdomain(b'gorgon', b'/here') == b'/here'\n"
		 "assert c.bind_textdomain_codeset(b'gorgon', b'UTF-8') == b'UTF-8' and c.textdomain(b'gorgon') == b'gorgon'\n");
	run(two, "assert c.bindtextdomain(b'gorgon', None) != b'/here'\n"
		 "assert c.bind_textdomain_codeset(b'gorgon', None) is None and c.textdomain(None) == b'messages'\n");
	run(one, "assert c.bindtextdomain(b'gorgon', None) == b'/here'\n"
		 "assert c.bind_textdomain_codeset(b'gorgon', None) == b'UTF-8' and c.textdomain(None) == b'gorgon'\n"
		 "assert c.gettext(b'a text') == c.dgettext(b'gorgon', b'a text') == b'a text'\n"
		 "assert c.dcngettext(b'gorgon', b'one', b'many', 1, 5) == b'one'\n"
		 "assert c.dcngettext(None, b'one', b'many', 2, 5) == b'many'\n");
	destroy(one);
	destroy(two);
}

// Threads of two interpreters are in the middle of changes of what the child will need.
static void fork_child_has_its_state(void **state)
{
	static const char busy[] =
		"import os, time, threading, ctypes\n"
		"c = ctypes.CDLL(None)\n"
		"os.environ['TZ'] = 'Europe/Berlin'\n"
		"time.tzset()\n"
		"end = []\n"
		"def work():\n"
		"    while not end:\n"
		"        time.mktime(time.localtime(1e9)); time.tzset(); c.random(); c.setlogmask(0)\n"
		"threads = [threading.Thread(target=work) for _ in range(2)]\n"
		"for thread in threads: thread.start()\n";
	static const char stop[] = "end.append(1)\nfor thread in threads: thread.join()\n";
	static const char forks[] =
		"for _ in range(20):\n"
		"    pid = os.fork()\n"
		"    if not pid:\n"
		"        try:\n"
		"            time.tzset(); c.random(); c.setlogmask(0)\n"
		"            os._exit(time.localtime(1720000000).tm_gmtoff // 3600)\n"
		"        finally:\n"
		"            os._exit(77)\n"
		"    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2\n";
	struct gorgon_interp *one = start(), *two = start();

	(void)state;
	run(one, busy);
	run(two, busy);
	run(one, forks);
	run(one, stop);
	run(two, stop);
	destroy(one);
	destroy(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(destroy_after_openlog_host_logs_on),
		cmocka_unit_test(tzset_of_an_interpreter_leaves_the_hosts_clock),
		cmocka_unit_test(environment_of_an_interpreter_has_its_zone),
		cmocka_unit_test(times_are_read_and_written_in_the_interpreters_zone),
		cmocka_unit_test(domains_of_an_interpreter_are_its_own),
		cmocka_unit_test(fork_child_has_its_state),
	};

	unsetenv("TZ");
	return cmocka_run_group_tests_name("libc state", tests, test_warm_up, NULL);
}
