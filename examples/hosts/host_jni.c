// SPDX-License-Identifier: MIT The native methods of Host.java. An error of Gorgon's becomes a
// RuntimeException: the type of Python's exception, or what else went wrong.

#include <gorgon.h>
#include <jni.h>

static void throw(JNIEnv * env, struct gorgon_error *err)
{
	const struct gorgon_exception *exception = gorgon_error_exception(err);
	const char *text = exception ? exception->type
			   : gorgon_error_code(err) == GORGON_ERROR_BUSY
				   ? "busy"
				   : gorgon_error_message(err);

	if (err)
		(*env)->ThrowNew(env, (*env)->FindClass(env, "java/lang/RuntimeException"), text);
	gorgon_error_destroy(err);
}

JNIEXPORT jlong JNICALL Java_Host_begin(JNIEnv *env, jclass class)
{
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .memory_limit = 256 << 20};
	struct gorgon_interp *ret = NULL;
	struct gorgon_error *err = gorgon_interp_create(&opts, &ret);

	(void)class;
	err = err ?: gorgon_interp_start(ret, NULL);
	throw(env, err ?: gorgon_interp_run_file(ret, "work.py"));
	return (jlong)ret;
}

JNIEXPORT jlong JNICALL Java_Host_call(JNIEnv *env, jclass class, jlong interp, jstring function,
				       jlong argument)
{
	struct gorgon_value item = {.kind = GORGON_VALUE_INT, .integer = argument},
			    ret = {.kind = GORGON_VALUE_NONE};
	const struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&item, 1}};
	const char *name = (*env)->GetStringUTFChars(env, function, NULL);

	(void)class;
	throw(env,
	      gorgon_interp_call((struct gorgon_interp *)interp, NULL, name, &args, NULL, &ret));
	(*env)->ReleaseStringUTFChars(env, function, name);
	return ret.kind == GORGON_VALUE_INT ? ret.integer : 0;
}

JNIEXPORT void JNICALL Java_Host_interrupt(JNIEnv *env, jclass class, jlong interp)
{
	(void)class;
	throw(env, gorgon_interp_interrupt((struct gorgon_interp *)interp));
}

JNIEXPORT void JNICALL Java_Host_stop(JNIEnv *env, jclass class, jlong interp, jint timeout)
{
	(void)class;
	throw(env, gorgon_interp_stop_within((struct gorgon_interp *)interp, (unsigned)timeout));
}

JNIEXPORT void JNICALL Java_Host_destroy(JNIEnv *env, jclass class, jlong interp)
{
	(void)class;
	throw(env, gorgon_interp_destroy((struct gorgon_interp *)interp));
}

// Faults of the interpreters are reported. Those by which the JVM finds null references are the
// JVM's.
JNIEXPORT void JNICALL Java_Host_reportFaults(JNIEnv *env, jclass class)
{
	(void)class;
	throw(env, gorgon_faults_report(NULL));
}
