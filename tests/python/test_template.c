// SPDX-License-Identifier: MIT
// loader/python/template: interpreters that are copies of one that has run a program, beside
// interpreters that have run it themselves.

#define _GNU_SOURCE
#include "calls.h"
#include "base/lock.h"
#include "image/zones.h"
#include "ns/ns.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gorgon_template *make(const char *program)
{
	struct gorgon_template_opts opts = {.size = sizeof(opts), .program = program};
	struct gorgon_template *ret;

	assert_ok(gorgon_template_create(&opts, &ret));
	return ret;
}

static struct gorgon_interp *create_copy(const struct gorgon_template *template)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .from = template};
	struct gorgon_interp *ret;

	assert_ok(gorgon_interp_create(&opts, &ret));
	return ret;
}

static struct gorgon_interp *copy(const struct gorgon_template *template)
{
	struct gorgon_interp *ret = create_copy(template);

	assert_ok(gorgon_interp_start(ret, NULL));
	return ret;
}

// What a program is and what it has made: dicts and sets with keys that have addresses for hashes,
// in tables with long probes; caches of functools that drop what is oldest; ints that are
// addresses; weak references; code with inline caches.
static const char world[] =
	"import collections, enum, functools, gc, json, sys, threading, typing, weakref\n"
	"class Thing:\n"
	"    def __init__(self, n): self.n = n\n"
	"    def more(self): return self.n + 1\n"
	"class Colour(enum.Enum):\n"
	"    RED = 1\n"
	"    BLUE = 2\n"
	"things = [Thing(n) for n in range(3000)]\n"
	"by_thing = {t: t.n for t in things}\n"
	"by_pair = {(t, Thing, None): t.n for t in things}\n"
	"by_id = {id(t): t.n for t in things}\n"
	"by_none = {None: 1, Ellipsis: 2}\n"
	"ordered = collections.OrderedDict((t, t.n) for t in things)\n"
	"counted = collections.Counter(things)\n"
	"of_things = set(things)\n"
	"frozen = frozenset((t, 1) for t in things)\n"
	"nested = {frozenset([t, Thing]): t.n for t in things[:50]}\n"
	"weak = weakref.WeakSet(things)\n"
	"weak_keys = weakref.WeakKeyDictionary((t, t.n) for t in things)\n"
	"@functools.lru_cache(maxsize=4, typed=True)\n"
	"def cached(t, kind): return t.n\n"
	"for t in things[:4]: cached(t, Thing)\n"
	"def sum_of(n): return sum(things[i].more() for i in range(n))\n"
	"for i in range(100): sum_of(10)\n"
	"alias = typing.Dict[str, typing.List[Thing]]\n"
	"big = 3 ** 5000\n"
	// Sets that are freed in their order, so that what follows gets their memory in that order.
	"for i in range(20): frozenset((t, n, i) for t in (int, Thing, str) for n in range(40))\n"
	"after = [(i, Thing) for i in range(500)]\n"
	"def look():\n"
	"    assert all(by_thing[t] == by_pair[t, Thing, None] == t.n for t in things)\n"
	"    assert all(by_id[id(t)] == ordered[t] == t.n and counted[t] == 1 for t in things)\n"
	"    assert all(t in of_things and (t, 1) in frozen and t in weak and weak_keys[t] == t.n\n"
	"               for t in things)\n"
	"    assert all(nested[frozenset([t, Thing])] == t.n for t in things[:50])\n"
	"    assert frozen == frozenset((t, 1) for t in things)\n"
	"    assert hash(frozen) == hash(frozenset((t, 1) for t in things))\n"
	"    assert by_none[None] == 1 and by_none[...] == 2\n"
	"    for t in things[:4]: cached(t, Thing)\n"
	"    assert cached.cache_info().misses == 4, cached.cache_info()\n"
	"    for t in things[4:40]: cached(t, Thing)\n"
	"    assert cached.cache_info().currsize == 4\n"
	"    of_things.remove(things[5]); of_things.add(things[5])\n"
	"    del by_thing[things[7]]; by_thing[things[7]] = 7\n"
	"    assert len(of_things) == len(by_thing) == 3000\n"
	"    assert typing.Dict[str, typing.List[Thing]] is alias\n"
	"    assert sum_of(100) == 5050 and big == 3 ** 5000\n"
	"    assert Colour(2) is Colour.BLUE and Colour['RED'] is Colour.RED\n"
	"    assert json.loads(json.dumps({'a': [1, 2.5, None]})) == {'a': [1, 2.5, None]}\n"
	"    assert threading.current_thread() is threading.main_thread()\n"
	"    assert threading.get_ident() == threading.main_thread().ident\n"
	"    assert threading.get_native_id() == threading.main_thread().native_id\n"
	"    results = []\n"
	"    threads = [threading.Thread(target=lambda: results.append(sum_of(50))) for i in "
	"range(4)]\n"
	"    for t in threads: t.start()\n"
	"    for t in threads: t.join()\n"
	"    assert results == [1275] * 4\n"
	"    gc.collect()\n"
	"    try: things[99999]\n"
	"    except IndexError as e: assert e.__traceback__.tb_lineno\n"
	"    else: assert False\n";

static void template_copies_are_what_a_start_is(void **state)
{
	static const char report[] = "look()\n"
				     "names = sorted(sys.modules), sys.path, sys.argv, sys.flags, "
				     "sys.executable, len(gc.get_objects()) // 1000\n"
				     "assert len(object.__subclasses__()) > 100\n";
	struct gorgon_template *template = make(world);
	struct gorgon_interp *copies[3], *started = start();
	struct gorgon_value values[4];

	(void)state;
	run(started, world);
	for (int i = 0; i < 3; i++)
		copies[i] = copy(template);
	gorgon_template_free(template); // they live on
	for (int i = 0; i < 4; i++) {
		struct gorgon_interp *interp = i < 3 ? copies[i] : started;

		run(interp, report);
		run(interp, "def text(): return repr(names)");
		assert_ok(gorgon_interp_call(interp, "__main__", "text", NULL, NULL, &values[i]));
	}
	for (int i = 0; i < 3; i++) {
		assert_string_equal(values[i].text.data, values[3].text.data);
		gorgon_value_deinit(&values[i]);
		destroy(copies[i]);
	}
	gorgon_value_deinit(&values[3]);
	destroy(started);
}

// Each of these is another one in each copy, as in children of fork(), or in processes.
static void template_copies_differ_where_processes_do(void **state)
{
	static const char program[] =
		"import gorgon, os, random, secrets, sys, ssl, tempfile, threading, uuid\n"
		"random.random()\n"
		"hooks = []\n"
		"os.register_at_fork(before=lambda: hooks.append('before'),\n"
		"                    after_in_child=lambda: hooks.append('child'),\n"
		"                    after_in_parent=lambda: hooks.append('parent'))\n"
		"def draw(): return [str(random.random()), str(random.getrandbits(64)),\n"
		"    str(uuid.uuid1()), str(uuid.uuid4()), ssl.RAND_bytes(16).hex(),\n"
		"    tempfile.mktemp(), secrets.token_hex(), str(random.Random().random())]\n"
		"def hooked(): return hooks\n";
	struct gorgon_template *template = make(program);
	struct gorgon_value first, second, hooks;
	char source[100];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct gorgon_interp *interp = copy(template);

		assert_ok(gorgon_interp_call(interp, "__main__", "draw", NULL, NULL,
					     i ? &second : &first));
		assert_ok(gorgon_interp_call(interp, "__main__", "hooked", NULL, NULL, &hooks));
		assert_int_equal(hooks.list.count, 2);
		assert_true(gorgon_interp_number(interp) > 4);
		snprintf(source, sizeof(source),
			 "assert gorgon.interpreter == %u and gorgon.count() == 1",
			 gorgon_interp_number(interp));
		run(interp, source);
		run(interp, "del sys.modules['gorgon']; import gorgon as again\n"
			    "assert again.interpreter == gorgon.interpreter");
		assert_string_equal(hooks.list.items[0].text.data, "before");
		assert_string_equal(hooks.list.items[1].text.data, "child");
		gorgon_value_deinit(&hooks);
		destroy(interp);
	}
	assert_int_equal(first.list.count, 8);
	for (size_t i = 0; i < first.list.count; i++)
		assert_string_not_equal(first.list.items[i].text.data,
					second.list.items[i].text.data);
	gorgon_value_deinit(&first);
	gorgon_value_deinit(&second);
	gorgon_template_free(template);
}

static void template_copies_have_what_it_has_registered(void **state)
{
	static const char program[] = "import atexit, ctypes, locale, os, signal, time\n"
				      "got = []\n"
				      "signal.signal(signal.SIGUSR2, lambda *a: got.append(a[0]))\n"
				      "done = 0\n"
				      "atexit.register(lambda: done and os.write(done, b'end'))\n"
				      "os.environ['GORGON_SET'] = 'there'\n"
				      "libc = ctypes.CDLL(None)\n"
				      "libc.getenv.restype = ctypes.c_char_p\n"
				      "@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)\n"
				      "def twice(n): return 2 * n\n";
	struct gorgon_template *template = make(program);
	char buffer[8] = "", source[64];
	struct gorgon_interp *interp;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	for (int i = 0; i < 2; i++) {
		interp = copy(template);
		run(interp, "os.kill(os.getpid(), signal.SIGUSR2)\n"
			    "assert got == [signal.SIGUSR2], got\n"
			    "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
			    "assert libc.getenv(b'GORGON_SET') == b'there'\n"
			    "assert os.environ['GORGON_SET'] == 'there' and 'PATH' in os.environ\n"
			    "assert locale.setlocale(locale.LC_CTYPE) != 'C' or True\n"
			    "assert twice(21) == 42\n"
			    "assert time.localtime(0)[:1] and time.strftime('%Y', time.gmtime(0)) "
			    "== '1970'\n");
		snprintf(source, sizeof(source), "done = %d", fds[1]);
		run(interp, source);
		destroy(interp);
		assert_int_equal(read(fds[0], buffer, sizeof(buffer)), 3);
	}
	close(fds[0]);
	close(fds[1]);
	gorgon_template_free(template);
}

// Libraries bind their domains when they are loaded (libgpg-error, for lxml).
static void template_copies_have_its_text_domains(void **state)
{
	struct gorgon_template *template = make("import locale\n"
						"locale.bindtextdomain('shop', '/of/shop')\n"
						"locale.bind_textdomain_codeset('shop', 'UTF-8')\n"
						"locale.bind_textdomain_codeset('other', 'UTF-8')\n"
						"locale.textdomain('shop')\n");
	struct gorgon_interp *interp, *fresh = start();

	(void)state;
	for (int i = 0; i < 2; i++) {
		interp = copy(template);
		run(interp,
		    "assert locale.textdomain(None) == 'shop'\n"
		    "assert locale.bindtextdomain('shop', None) == '/of/shop'\n"
		    "assert locale.bind_textdomain_codeset('shop', None) == 'UTF-8'\n"
		    "assert locale.bindtextdomain('other', None) != '/of/shop'\n"
		    "assert locale.gettext('a text') == 'a text'\n"
		    "locale.textdomain('messages'); locale.bindtextdomain('shop', '/mine')\n");
		destroy(interp);
	}
	gorgon_template_free(template);
	run(fresh, "import locale; assert locale.textdomain(None) == 'messages'");
	destroy(fresh);
}

// The C library keeps each for the process.
static void template_copies_have_its_locale_names_and_numbers(void **state)
{
	struct gorgon_template *template =
		make("import ctypes, locale, syslog\n"
		     "libc = ctypes.CDLL(None)\n"
		     "libc.localeconv.restype = libc.strtok.restype = ctypes.c_void_p\n"
		     "locale.setlocale(locale.LC_ALL, 'C.UTF-8')\n"
		     "locale.setlocale(locale.LC_NUMERIC, 'C')\n"
		     "names = locale.setlocale(locale.LC_ALL)\n"
		     "at = ctypes.c_void_p(libc.localeconv())\n"
		     "text = ctypes.create_string_buffer(b'one two three')\n"
		     "libc.strtok(text, b' ')\n"
		     "syslog.openlog('shop')\n"
		     "syslog.setlogmask(syslog.LOG_UPTO(syslog.LOG_ERR))\n"
		     "libc.srand(5); first = libc.rand()\n");
	struct gorgon_interp *interp;

	(void)state;
	for (int i = 0; i < 2; i++) {
		interp = copy(template);
		run(interp,
		    "assert locale.setlocale(locale.LC_ALL) == names, names\n"
		    "assert locale.setlocale(locale.LC_TIME) == 'C.UTF-8'\n"
		    "assert libc.localeconv() == at.value\n"
		    "assert ctypes.string_at(ctypes.c_char_p.from_address(at.value).value) == b'.'\n"
		    "assert ctypes.string_at(libc.strtok(None, b' ')) == b'two'\n"
		    "assert text.raw.startswith(b'one\\0two\\0three')\n"
		    "assert syslog.setlogmask(0) == syslog.LOG_UPTO(syslog.LOG_ERR)\n"
		    "syslog.syslog(syslog.LOG_ERR, 'a message')\n"
		    "second, third = libc.rand(), libc.rand()\n"
		    "libc.srand(5)\n"
		    "assert [first, second, third] == [libc.rand() for i in range(3)]\n");
		destroy(interp);
	}
	gorgon_template_free(template);
}

static void template_copies_are_interrupted_limited_and_fork(void **state)
{
	struct gorgon_template *template = make("import os, time");
	struct gorgon_interp_opts opts = {
		.size = sizeof(opts), .from = template, .memory_limit = 64 << 20};
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};
	struct gorgon_interp *interp;
	struct thread thread;

	(void)state;
	assert_ok(gorgon_interp_create(&opts, &interp));
	assert_ok(gorgon_interp_start(interp, NULL));
	assert_raised(gorgon_interp_run_string(
			      interp, "x = [bytearray(1 << 20) for i in range(100)]", NULL),
		      "MemoryError", "");
	assert_ok(gorgon_interp_get_stats(interp, &stats));
	assert_true(stats.mapped_bytes > 1 << 20);
	run(interp, "pid = os.fork()\n"
		    "if not pid: os._exit(len([i for i in range(7)]))\n"
		    "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7\n");
	init_waiting();
	spawn(&thread, interp, REACHED "while True: time.sleep(0.01)");
	while (sem_wait(&reached) && errno == EINTR)
		continue;
	assert_ok(gorgon_interp_interrupt(interp));
	assert_raised(join(&thread), "KeyboardInterrupt", "");
	destroy(interp);
	gorgon_template_free(template);
}

static void *start_copy(void *template)
{
	struct gorgon_interp *interp = copy(template);

	run(interp, "look()");
	destroy(interp);
	return NULL;
}

static void template_copies_are_made_on_many_threads(void **state)
{
	struct gorgon_template *template = make(world);
	pthread_t threads[4];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, start_copy, template),
					 0);
		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
	}
	gorgon_template_free(template);
}

static void assert_refused(struct gorgon_error *err, enum gorgon_error_code code, const char *text)
{
	assert_non_null(err);
	if (gorgon_error_code(err) != code || !strstr(gorgon_error_message(err), text))
		fail_msg("%d %s, expected %d %s", (int)gorgon_error_code(err),
			 gorgon_error_message(err), (int)code, text);
	gorgon_error_destroy(err);
}

static void template_programs_that_cannot_be_copied_are_refused(void **state)
{
	static const struct {
		const char *program, *text;
		enum gorgon_error_code code;
	} cases[] = {
		{"import threading\n"
		 "threading.Thread(target=threading.Event().wait, daemon=True).start()",
		 "libpython", GORGON_ERROR_UNSUPPORTED},
		{"f = open('/etc/passwd')", "(/etc/passwd)", GORGON_ERROR_UNSUPPORTED},
		{"import mmap; m = mmap.mmap(-1, 8192)", "an address in", GORGON_ERROR_UNSUPPORTED},
		{"import os; x = os.urandom(4000)", "libpython", GORGON_ERROR_UNSUPPORTED},
		{"import time; x = [time.time() for i in range(40)]", "words that differ",
		 GORGON_ERROR_UNSUPPORTED},
		{"import ctypes; ctypes.CDLL(None).getgrent()", "setgrent()",
		 GORGON_ERROR_UNSUPPORTED},
		{"import tempfile; tempfile.mktemp()", "words that differ",
		 GORGON_ERROR_UNSUPPORTED},
		{"import ssl; ssl.RAND_bytes(4)", "libcrypto", GORGON_ERROR_UNSUPPORTED},
		{"import ctypes\n"
		 "name = ctypes.CDLL(None).canonicalize_file_name\n"
		 "name.restype = ctypes.c_void_p\n"
		 "a = (ctypes.c_void_p * 1)(name(b'/usr'))\n",
		 "an address in", GORGON_ERROR_UNSUPPORTED},
		{"import ctypes\n"
		 "c = ctypes.CDLL(None)\n"
		 "c.malloc.restype = c.canonicalize_file_name.restype = ctypes.c_void_p\n"
		 "ctypes.c_void_p.from_address(c.malloc(64)).value = "
		 "c.canonicalize_file_name(b'/usr')\n",
		 "a block of 64 bytes from malloc() of", GORGON_ERROR_UNSUPPORTED},
		{"import ctypes, threading\n"
		 "key = ctypes.c_uint()\n"
		 "for i in range(1 + threading.get_native_id() % 499):\n"
		 "    ctypes.CDLL(None).pthread_key_create(ctypes.byref(key), None)\n"
		 "del key, i",
		 "libffi", GORGON_ERROR_UNSUPPORTED},
		{"import ctypes, threading\n"
		 "key = ctypes.c_uint()\n"
		 "for i in range(500 - threading.get_native_id() % 499):\n"
		 "    ctypes.CDLL(None).tss_create(ctypes.byref(key), None)\n"
		 "del key, i",
		 "libffi", GORGON_ERROR_UNSUPPORTED},
		{"1 / 0", "ZeroDivisionError", GORGON_ERROR_EXCEPTION},
	};
	struct gorgon_template *template;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gorgon_template_opts opts = {.size = sizeof(opts),
						    .program = cases[i].program};

		// The address sanitizer's memory for small tables is at other addresses in each run.
		assert_refused(gorgon_template_create(&opts, &template), cases[i].code,
			       TEST_SANITIZED ? "" : cases[i].text);
	}
	assert_int_equal(gorgon_interp_count(), 0); // nothing of them is left
}

// What a program looks at may be changing while the template is made.
static void template_programs_that_differ_once_run_again(void **state)
{
	// Of its runs the second one finds the first file, but not the second file.
	static const char once[] = "import os\n"
				   "large = False\n"
				   "if not os.path.exists('%s/1'):\n"
				   "    open('%s/1', 'w').close()\n"
				   "elif not os.path.exists('%s/2'):\n"
				   "    large = True\n"
				   "    open('%s/2', 'w').close()\n"
				   "kept = [object() for i in range(100000 if large else 10)]\n";
	static const char each[] = "import os\n"
				   "large = os.path.exists('%s/3')\n"
				   "(os.unlink if large else os.mknod)('%s/3')\n"
				   "kept = [object() for i in range(100000 if large else 10)]\n";
	char folder[] = "/tmp/gorgon-test-XXXXXX", command[64], *program;
	struct gorgon_template_opts opts = {.size = sizeof(opts)};
	struct gorgon_template *template;
	struct gorgon_interp *interp;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_true(asprintf(&program, once, folder, folder, folder, folder) > 0);
	template = make(program);
	interp = copy(template);
	run(interp, "assert len(kept) == 10 and not large");
	destroy(interp);
	gorgon_template_free(template);
	free(program);
	assert_true(asprintf(&program, each, folder, folder) > 0);
	opts.program = program;
	assert_refused(gorgon_template_create(&opts, &template), GORGON_ERROR_UNSUPPORTED,
		       "did not do the same");
	free(program);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static void template_options_that_copies_cannot_have_are_refused(void **state)
{
	static const char *const options[] = {"-X", "utf8", NULL};
	static const char *const environment[] = {"A=1", NULL};
	struct gorgon_template *template = make(NULL);
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .from = template};
	struct gorgon_ns_opts ns = {.size = sizeof(ns), .environment = environment};
	struct gorgon_start_opts start_opts = {.size = sizeof(start_opts), .options = options};
	struct gorgon_interp *interp = create_copy(template);
	int status;

	(void)state;
	assert_refused(gorgon_interp_start(interp, &start_opts), GORGON_ERROR_ARGUMENT, "options");
	assert_refused(gorgon_interp_main(interp, 0, NULL, &status), GORGON_ERROR_UNSUPPORTED,
		       "copy of a template");
	assert_ok(gorgon_interp_start(interp, NULL)); // nothing has changed
	destroy(interp);
	opts.end = GORGON_END_QUICK;
	assert_refused(gorgon_interp_create(&opts, &interp), GORGON_ERROR_ARGUMENT, "end");
	opts.end = GORGON_END_FULL;
	opts.isolate = GORGON_ISOLATE_COPY;
	assert_refused(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED, "template");
	opts.isolate = GORGON_ISOLATE_LOADER;
	opts.python_lines = GORGON_PYTHON_LINES_ON;
	assert_refused(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED, "lines");
	opts.python_lines = GORGON_PYTHON_LINES_OFF;
	opts.ns = &ns;
	assert_refused(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED,
		       "environment");
	gorgon_template_free(template);
	gorgon_template_free(NULL);
}

// numpy's types, ufuncs, arrays; its own generator.
// What operator new and strdup() give is memory of the interpreter, too.
static void template_copies_have_what_cxx_has_allocated(void **state)
{
	static const char program[] =
		"import ctypes\n"
		"registry = ctypes.CDLL('%s')\n"
		"registry.registry_find.restype = ctypes.c_char_p\n"
		"for n in range(100): registry.registry_add(b'name%%d' %% n, b'text%%d' %% n)\n"
		"def look(first):\n"
		"    for n in range(first, 100):\n"
		"        assert registry.registry_find(b'name%%d' %% n) == b'text%%d' %% n\n";
	static const char work[] = "look(0)\n"
				   "for n in range(50): registry.registry_remove(b'name%d' % n)\n"
				   "registry.registry_add(b'more', b'x' * 1000)\n"
				   "assert len(registry.registry_find(b'more')) == 1000\n"
				   "assert registry.registry_find(b'name7') is None\n"
				   "look(50)\n";
	char text[sizeof(program) + PATH_MAX];
	struct gorgon_template *template;

	(void)state;
	snprintf(text, sizeof(text), program, test_module("libregistry.so"));
	template = make(text);
	for (int i = 0; i < 2; i++) {
		struct gorgon_interp *interp = copy(template);

		run(interp, work);
		destroy(interp);
	}
	gorgon_template_free(template);
}

// A few words that differ are data, in thread-local storage too: numpy's digits of a number that it has printed.
static void template_may_have_other_data_in_thread_local_storage(void **state)
{
	static const char program[] =
		"import ctypes, os\nat = ctypes.CDLL('%s').%s\n"
		"at.restype = ctypes.POINTER(ctypes.c_int)\n"
		"at()[0] = int.from_bytes(os.urandom(80)[:3])\n";
	static const char *const variables[] = {"tls_value_at", "tls_zero_at"};
	char text[sizeof(program) + PATH_MAX];
	struct gorgon_template *template;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), program, test_module("libtls.so"), variables[i]);
		template = make(text);
		destroy(copy(template));
		gorgon_template_free(template);
	}
}

// As Rust's library of cryptography does.
static void template_may_have_addresses_of_variables_of_calls(void **state)
{
	struct gorgon_template *template =
		make("import ctypes\n"
		     "left = ctypes.c_uint64()\n"
		     "@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64, "
		     "ctypes.c_int)\n"
		     "def look(path, status, kind):\n"
		     "    left.value = status\n"
		     "    return 7\n"
		     "assert ctypes.CDLL(None).ftw(b'/', look, 1) == 7\n");
	struct gorgon_interp *interp = copy(template);

	(void)state;
	run(interp, "assert left.value");
	destroy(interp);
	gorgon_template_free(template);
}

// What looks like an address in one run only is a number; if others have none there, it is one.
static void template_may_have_numbers_that_look_like_addresses(void **state)
{
	static const char program[] =
		"import ctypes, os\n"
		"with open('%s', 'a') as f: runs = f.write('x') * f.tell()\n"
		"a = (ctypes.c_ulong * 1)(%lu if runs == 2 else %d * runs)\n"
		"del f, runs\n";
	static const int others[] = {123457, 0};
	char path[] = "/tmp/gorgon-test-XXXXXX", text[sizeof(program) + 100];
	struct gorgon_template_opts opts = {.size = sizeof(opts), .program = text};
	struct gorgon_template *template;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(truncate(path, 0), 0);
		snprintf(text, sizeof(text), program, path, (unsigned long)world, others[i]);
		if (others[i])
			gorgon_template_free(make(text));
		else
			assert_refused(gorgon_template_create(&opts, &template),
				       GORGON_ERROR_UNSUPPORTED, "an address in");
	}
	unlink(path);
}

// CPython puts them into trees by 32 bits of a hash that it makes of their addresses. The runs lie
// where those of the addresses differ that have a say in a small tree.
static void template_may_have_many_context_variables(void **state)
{
	enum { BEFORE = 16 };
	struct gorgon_ns *before[BEFORE];
	struct gorgon_template *template;
	size_t count = 0;

	(void)state;
	do {
		assert_ok(gorgon_ns_create(NULL, &before[count]));
		gorgon_lock();
		gorgon_zone_take(before[count]);
		gorgon_unlock();
	} while (before[count++]->zone / GORGON_ZONE_SIZE % BEFORE != BEFORE - 3);
	template =
		make("import contextvars\n"
		     "variables = [contextvars.ContextVar(f'v{i}') for i in range(1000)]\n"
		     "for i, each in enumerate(variables[:500]): each.set(i)\n"
		     "kept = contextvars.copy_context()\n");
	for (int i = 0; i < 2; i++) {
		struct gorgon_interp *interp = copy(template);

		run(interp, "assert [kept[each] for each in variables[:500]] == list(range(500))\n"
			    "assert not any(each in kept for each in variables[500:])\n"
			    "for each in variables: each.set(7)\n"
			    "more = contextvars.ContextVar('more')\n"
			    "more.set(8)\n"
			    "assert all(each.get() == 7 for each in variables) and more.get() == 8\n"
			    "assert len(contextvars.copy_context()) >= 1001\n"
			    "assert len({*variables, more}) == 1001\n"
			    "assert kept.run(lambda: variables[49].get()) == 49\n");
		destroy(interp);
	}
	gorgon_template_free(template);
	while (count)
		assert_ok(gorgon_ns_destroy(before[--count]));
}

// OpenBLAS for example goes on with the identities of threads that it has ended before a fork().
// libxml2's tables depend on the second in which it is loaded.
static void template_runs_have_the_same_time(void **state)
{
	struct gorgon_template *template =
		make("import ctypes, time\n"
		     "libc = ctypes.CDLL(None)\n"
		     "begun = libc.time(None)\n"
		     "table = [object() for i in range(begun % 1000)]\n"
		     "time.sleep(1.1)\n"
		     "assert libc.time(None) == begun\n");
	struct gorgon_interp *interp = copy(template);

	(void)state;
	run(interp, "assert abs(libc.time(None) - time.time()) < 2\n"
		    "assert begun < time.time() - 1\n");
	destroy(interp);
	gorgon_template_free(template);
}

static void template_may_know_threads_that_have_ended(void **state)
{
	struct gorgon_template *template =
		make("import ctypes\n"
		     "c = ctypes.CDLL(None)\n"
		     "threads = (ctypes.c_ulong * 4)()\n"
		     "for i in range(4):\n"
		     "    c.pthread_create(ctypes.byref(threads, 8 * i), None, c.usleep, 50000)\n"
		     "for i in range(4):\n"
		     "    c.pthread_join(ctypes.c_ulong(threads[i]), None)\n"
		     "del i\n");

	(void)state;
	destroy(copy(template));
	gorgon_template_free(template);
}

// Their destructors run at the end of each copy, in the order of a start's.
static void template_copies_have_thread_local_variables(void **state)
{
	static const char program[] = "import ctypes\nlibrary = ctypes.CDLL('%s')\n"
				      "assert library.lifetime_touch_a() == 8\n";
	char text[sizeof(program) + PATH_MAX];
	struct gorgon_template *template;

	(void)state;
	snprintf(text, sizeof(text), program, test_module("liblifetime_a.so"));
	template = make(text);
	for (int i = 0; i < 2; i++) {
		struct gorgon_interp *interp = copy(template);

		run(interp, "assert library.lifetime_touch_a() == 8");
		test_notes();
		destroy(interp);
		assert_string_equal(test_notes(), "-a.second -a.first -a.global ");
	}
	gorgon_template_free(template);
}

static void template_of_numpy_is_numpy(void **state)
{
	static const char work[] =
		"import numpy as np\n"
		"a = np.arange(12.).reshape(3, 4)\n"
		"assert (a @ a.T).tolist() == [[14, 38, 62], [38, 126, 214], [62, 214, 366]]\n"
		"assert np.allclose(np.linalg.inv(np.array([[2., 1], [1, 3]])), [[.6, -.2], [-.2, "
		".4]])\n"
		"assert np.fft.fft([1, 2, 3]).round(3).tolist()[0] == 6\n"
		"assert str(np.array([1], dtype='datetime64[s]')[0]) == '1970-01-01T00:00:01'\n"
		"for t in 'bhilqBHILQfdgFD?':\n"
		"    for u in np.add, np.multiply, np.maximum:\n"
		"        assert u(np.ones(3, t), np.ones(3, t)).dtype == np.dtype(t), (t, u)\n"
		"assert np.sort(np.array(['b', 'a'])).tolist() == ['a', 'b']\n"
		"import numpy.testing, pickle\n"
		"numpy.testing.assert_array_equal(pickle.loads(pickle.dumps(a)), a)\n"
		"assert np.dot(np.ones((300, 300)), np.ones((300, 300)))[0, 0] == 300\n"
		"def draw(): return str(np.random.rand()) + "
		"str(np.random.default_rng().random())\n";
	struct gorgon_template *template;
	struct gorgon_value values[2];

	(void)state;
	template = make("import numpy");
	for (int i = 0; i < 2; i++) {
		struct gorgon_interp *interp = copy(template);

		run(interp, work);
		assert_ok(gorgon_interp_call(interp, "__main__", "draw", NULL, NULL, &values[i]));
		destroy(interp);
	}
	assert_string_not_equal(values[0].text.data, values[1].text.data);
	gorgon_value_deinit(&values[0]);
	gorgon_value_deinit(&values[1]);
	gorgon_template_free(template);
}

// Its numbers would be the same in each copy; those of a seed that was given are so everywhere.
static void template_with_a_drawn_generator_of_numpys_is_refused(void **state)
{
	static const char *const drawn[] = {
		"import numpy; rng = numpy.random.default_rng()",
		"import numpy; state = numpy.random.RandomState()",
		"import numpy; rng = numpy.random.default_rng(numpy.random.SeedSequence())",
		"import numpy; rng = [numpy.random.default_rng() for i in range(20)]",
	};
	struct gorgon_template *template;
	struct gorgon_interp *interp;

	(void)state;
	for (size_t i = 0; i < sizeof(drawn) / sizeof(*drawn); i++) {
		struct gorgon_template_opts opts = {.size = sizeof(opts), .program = drawn[i]};

		assert_refused(gorgon_template_create(&opts, &template), GORGON_ERROR_UNSUPPORTED,
			       "numpy.random: a ");
	}
	template = make("import numpy\n"
			"def make(): return numpy.random.default_rng(2**127 + 3)\n"
			"rng = make()\n");
	interp = copy(template);
	run(interp, "assert rng.random(5).tolist() == make().random(5).tolist()");
	destroy(interp);
	gorgon_template_free(template);
}

// A pool's interpreters are copies, those too that replace others.
static void template_makes_interpreters_of_pools(void **state)
{
	struct gorgon_template *template = make("import decimal\n"
						"def make(n): return str(decimal.Decimal(n) / 8)\n"
						"import ctypes\n"
						"def leave(n): ctypes.CDLL(None).exit(n)\n");
	struct gorgon_interp_opts interp = {.size = sizeof(interp), .from = template};
	struct gorgon_pool_opts opts = {.size = sizeof(opts), .interp = &interp, .count = 2};
	struct gorgon_value item = VALUE_INT(5),
			    args = {.kind = GORGON_VALUE_LIST, .list = {&item, 1}}, ret;
	struct gorgon_pool *pool;
	struct gorgon_job *job;

	(void)state;
	assert_ok(gorgon_pool_create(&opts, &pool));
	gorgon_template_free(template); // the pool holds it
	for (int i = 0; i < 4; i++) {
		assert_ok(gorgon_pool_submit(pool, "__main__", "make", &args, NULL, -1, &job));
		assert_ok(gorgon_job_finish(job, &ret));
		assert_string_equal(ret.text.data, "0.625");
		gorgon_value_deinit(&ret);
		assert_ok(gorgon_pool_submit(pool, "__main__", "leave", &args, NULL, -1, &job));
		gorgon_error_destroy(gorgon_job_finish(job, NULL));
	}
	assert_true(gorgon_pool_replaced_count(pool) >= 2);
	assert_ok(gorgon_pool_destroy(pool));
}

// Of other versions of CPython, other builds and other machines nothing is copied.
static void template_is_refused_where_cpython_is_not_known(void **state)
{
	struct gorgon_template_opts opts = {.size = sizeof(opts), .program = "pass"};
	struct gorgon_template *ret;

	(void)state;
	assert_error(gorgon_template_create(&opts, &ret), GORGON_ERROR_UNSUPPORTED, "templates are not known of this CPython");
}

static bool is_known(void)
{
	struct gorgon_template_opts opts = {.size = sizeof(opts), .program = "pass"};
	struct gorgon_template *template = NULL;
	struct gorgon_error *err = gorgon_template_create(&opts, &template);
	bool ret = gorgon_error_code(err) != GORGON_ERROR_UNSUPPORTED;

	gorgon_error_destroy(err);
	gorgon_template_free(template);
	return ret;
}

int main(void)
{
	static const struct CMUnitTest unknown[] = {
		cmocka_unit_test(template_is_refused_where_cpython_is_not_known),
	};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(template_programs_that_cannot_be_copied_are_refused),
		cmocka_unit_test(template_copies_are_what_a_start_is),
		cmocka_unit_test(template_copies_differ_where_processes_do),
		cmocka_unit_test(template_copies_have_what_it_has_registered),
		cmocka_unit_test(template_copies_have_its_text_domains),
		cmocka_unit_test(template_copies_have_its_locale_names_and_numbers),
		cmocka_unit_test(template_copies_are_interrupted_limited_and_fork),
		cmocka_unit_test(template_copies_are_made_on_many_threads),
		cmocka_unit_test(template_programs_that_differ_once_run_again),
		cmocka_unit_test(template_options_that_copies_cannot_have_are_refused),
		cmocka_unit_test(template_copies_have_what_cxx_has_allocated),
		cmocka_unit_test(template_may_have_other_data_in_thread_local_storage),
		cmocka_unit_test(template_may_have_addresses_of_variables_of_calls),
		cmocka_unit_test(template_may_have_numbers_that_look_like_addresses),
		cmocka_unit_test(template_may_have_many_context_variables),
		cmocka_unit_test(template_runs_have_the_same_time),
		cmocka_unit_test(template_may_know_threads_that_have_ended),
		cmocka_unit_test(template_copies_have_thread_local_variables),
		cmocka_unit_test(template_of_numpy_is_numpy),
		cmocka_unit_test(template_with_a_drawn_generator_of_numpys_is_refused),
		cmocka_unit_test(template_makes_interpreters_of_pools),
	};

	if (!is_known())
		return cmocka_run_group_tests(unknown, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
