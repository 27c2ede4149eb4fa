/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_PROVIDERS_H
#define GORGON_PROVIDERS_H

#include "api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- providers: names that the host gives to private code --------------- */

/**
 * A table of host functions, or anything else that can answer a symbol name.
 * Asked for names that no private object defines, before the system is asked.
 */
struct gorgon_provider {
	/**
	 * @param      ctx      As given below.
	 * @param      name     The symbol.
	 * @param      version  Its version, or NULL.
	 * @param[out] addr     Set when found. Of a thread-local variable: the address of the
	 *                      calling thread's. It must lie in the thread-local storage of a
	 *                      library of the system's linker, or of the program: other threads'
	 *                      addresses are computed from it.
	 * @return true when found. Called with the loader's lock held, on any thread: it must
	 *         not call back into this library.
	 */
	bool (*find)(void *ctx, const char *name, const char *version, void **addr);
	void *ctx; /**< passed to the functions of the provider */
	/** Gives back what @c ctx holds; see gorgon_provider_close(). May be NULL. */
	void (*close)(void *ctx);
};

/**
 * Ask a provider for a name.
 *
 * @param version  NULL for the default version.
 * @return The address, of a thread-local variable the calling thread's; NULL when there is
 *         none. Since 0.1.
 */
GORGON_API void *gorgon_provider_find_symbol(const struct gorgon_provider *provider,
					     const char *name, const char *version);

/**
 * Call the provider's @c close, if it has one. For the host to call when no namespace uses the
 * provider any more: namespaces borrow providers, and several may have the same one. Since 0.1.
 */
GORGON_API void gorgon_provider_close(const struct gorgon_provider *provider);

/** A name and its address, for gorgon_provider_table(). */
struct gorgon_table_entry {
	const char *name; /**< NULL after the last */
	void *addr;       /**< what the name means */
};

/**
 * A provider that is a table: an array that ends with a NULL name, and lives as long as the
 * provider is used. Versions play no part. Since 1.0.
 */
GORGON_API struct gorgon_provider gorgon_provider_table(const struct gorgon_table_entry *entries);

/** A thread-local variable of the host, for gorgon_provider_tls_table(). */
struct gorgon_tls_table_entry {
	const char *name;   /**< NULL after the last */
	void *(*addr)(void); /**< returns the address of the calling thread's variable */
};

/** A provider that is a table of thread-local variables, as gorgon_provider_table(). Since 1.0. */
GORGON_API struct gorgon_provider
gorgon_provider_tls_table(const struct gorgon_tls_table_entry *entries);

/**
 * A provider that is a library of the system's: a handle of dlopen(3), which must be open as long
 * as the provider is used. The library's dependencies are asked, too, as dlsym(3) does. Its
 * thread-local variables are found like its functions; code that refers to one as initial-exec can
 * be loaded only if the library was there when the program started.
 *
 * @param takes  Whether the provider's @c close closes the handle; otherwise it stays the host's.
 *               Since 1.0.
 */
GORGON_API struct gorgon_provider gorgon_provider_handle(void *handle, bool takes);

/**
 * A provider that asks several others, in their order: an array that ends with a provider whose @c
 * find is NULL, and lives as long as this provider is used.
 *
 * @param takes  Whether the provider's @c close closes each of them, the last first. Since 1.0.
 */
GORGON_API struct gorgon_provider gorgon_provider_chain(const struct gorgon_provider *providers,
							bool takes);

#ifdef __cplusplus
}
#endif

#endif
