// SPDX-License-Identifier: MIT
// A model lives in Python, and the host holds it: threads acquire a session in whichever interpreter has the fewest, get
// the model's copy there, and call its methods. Prints
//
//	list of 3: 2 20 200
//	'Model' object has no attribute 'backward'
//	0 100 200 300

#include <gorgon.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define INTERPRETERS 3
#define THREADS 4

static struct gorgon_interp *interpreters[INTERPRETERS];
static int users[INTERPRETERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gorgon_replica *shared;

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", gorgon_error_message(err));
	exit(1);
}

// --- sessions ---------------------------------------------------------------------------

static int acquire(void)
{
	int ret = 0;

	pthread_mutex_lock(&lock);
	for (int i = 1; i < INTERPRETERS; i++)
		if (users[i] < users[ret])
			ret = i;
	users[ret]++;
	pthread_mutex_unlock(&lock);
	return ret;
}

static void give_back(int session)
{
	pthread_mutex_lock(&lock);
	users[session]--;
	pthread_mutex_unlock(&lock);
}

// --- objects ----------------------------------------------------------------------------

static struct gorgon_value integer(int64_t number)
{
	return (struct gorgon_value){.kind = GORGON_VALUE_INT, .integer = number};
}

static struct gorgon_pyobject *attr(struct gorgon_pyobject *object, const char *name)
{
	struct gorgon_pyobject *ret;

	check(gorgon_pyobject_get_attr(object, name, &ret));
	return ret;
}

// Call a function, whose reference is given back, with one argument.
static struct gorgon_pyobject *call(struct gorgon_pyobject *function, struct gorgon_value arg)
{
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&arg, 1}};
	struct gorgon_pyobject *ret;

	check(gorgon_pyobject_call(function, &args, NULL, &ret));
	gorgon_pyobject_release(function);
	return ret;
}

// The value of an object, whose reference is given back.
static struct gorgon_value take(struct gorgon_pyobject *object)
{
	struct gorgon_value ret;

	check(gorgon_pyobject_get_value(object, &ret));
	gorgon_pyobject_release(object);
	return ret;
}

static struct gorgon_pyobject *make_model(int session)
{
	struct gorgon_value weights[] = {integer(1), integer(10), integer(100)};
	struct gorgon_value list = {.kind = GORGON_VALUE_LIST, .list = {weights, 3}};
	struct gorgon_pyobject *class;

	check(gorgon_pyobject_find(interpreters[session], "nets", "Model", &class));
	return call(class, list);
}

static void show(struct gorgon_pyobject *result)
{
	struct gorgon_pyobject *type, *iterator, *item;
	struct gorgon_value name, list;

	check(gorgon_pyobject_get_type(result, &type));
	name = take(attr(type, "__name__"));
	check(gorgon_pyobject_get_value(result, &list));
	printf("%s of %zu:", name.text.data, list.list.count);
	gorgon_value_deinit(&name);
	gorgon_value_deinit(&list);
	gorgon_pyobject_release(type);
	check(gorgon_pyobject_iterate(result, &iterator));
	for (;;) {
		check(gorgon_pyobject_next(iterator, &item));
		if (!item)
			break;
		printf(" %lld", (long long)take(item).integer);
	}
	printf("\n");
	gorgon_pyobject_release(iterator);
}

// --- the host ---------------------------------------------------------------------------

static void start(void)
{
	for (int i = 0; i < INTERPRETERS; i++) {
		check(gorgon_interp_create(NULL, &interpreters[i]));
		check(gorgon_interp_start(interpreters[i], NULL));
		check(gorgon_interp_run_string(interpreters[i],
					       "import sys, types\n"
					       "nets = sys.modules['nets'] = types.ModuleType('nets')\n"
					       "exec('''class Model:\n"
					       "    def __init__(self, weights):\n"
					       "        self.weights = list(weights)\n"
					       "    def forward(self, x):\n"
					       "        return [w * x for w in self.weights]\n"
					       "''', nets.__dict__)\n",
					       NULL));
	}
}

static void use_one(void)
{
	int session = acquire();
	struct gorgon_pyobject *model = make_model(session), *result = call(attr(model, "forward"), integer(2)), *none;
	struct gorgon_error *err;

	show(result);
	err = gorgon_pyobject_get_attr(model, "backward", &none);
	printf("%s\n", gorgon_error_exception(err)->message);
	gorgon_error_destroy(err);
	check(gorgon_replica_create(model, &shared));
	gorgon_pyobject_release(result);
	gorgon_pyobject_release(model);
	give_back(session);
}

static void *use_copy(void *number)
{
	int session = acquire();
	struct gorgon_value index = integer(2), *x = number;
	struct gorgon_pyobject *model, *result, *item;

	check(gorgon_replica_get(shared, interpreters[session], &model));
	result = call(attr(model, "forward"), *x);
	check(gorgon_pyobject_get_item(result, &index, &item));
	*x = take(item);
	gorgon_pyobject_release(result);
	gorgon_pyobject_release(model);
	give_back(session);
	return NULL;
}

int main(void)
{
	struct gorgon_value numbers[THREADS];
	pthread_t threads[THREADS];

	start();
	use_one();
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = integer(i);
		pthread_create(&threads[i], NULL, use_copy, &numbers[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		printf("%lld%c", (long long)numbers[i].integer, i < THREADS - 1 ? ' ' : '\n');
	}
	gorgon_replica_release(shared);
	for (int i = 0; i < INTERPRETERS; i++)
		check(gorgon_interp_destroy(interpreters[i]));
	return 0;
}
