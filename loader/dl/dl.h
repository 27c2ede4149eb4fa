/* SPDX-License-Identifier: MIT */
/* The dl family (dlopen(3), dlsym(3), dladdr(3) and the others) of a namespace. See dl.c. */
#ifndef GORGON_DL_DL_H
#define GORGON_DL_DL_H

#include "ns/ns.h"

#include <dlfcn.h>
#include <link.h>

/* --- dl.c ------------------------------------------------------------------- */

void *gorgon_dl_open(const char *path, int flags, struct gorgon_ns *ns);
void *gorgon_dlm_open(Lmid_t id, const char *path, int flags, struct gorgon_ns *ns);
void *gorgon_dl_sym(void *handle, const char *name, struct gorgon_ns *ns);
void *gorgon_dl_vsym(void *handle, const char *name, const char *version, struct gorgon_ns *ns);
int gorgon_dl_close(void *handle, struct gorgon_ns *ns);
char *gorgon_dl_error(struct gorgon_ns *ns);

/* For the host: as gorgon_dl_vsym(), but leaves no dlerror() text. */
void *gorgon_dl_find(struct gorgon_object *object, const char *name, const char *version);

/* Set the text of the calling thread's next dlerror(). Takes @message, which is malloc()ed, or NULL
 * if there was no memory for it. The lock is not held. */
void gorgon_dl_set_error(char *message);

/* The next dlerror() of the calling thread has no text. */
void gorgon_dl_clear_error(void);

/* The private object whose handle this is, or NULL. The lock is held. */
struct gorgon_object *gorgon_dl_find_handle(struct gorgon_ns *ns, const void *handle);

/* Whether a handle may be given to the system's functions, which follow any pointer; if not, sets
 * the error. */
bool gorgon_dl_is_system_handle(const void *handle);

/* --- dl_info.c ---------------------------------------------------------------- */

int gorgon_dl_addr(const void *addr, Dl_info *info, struct gorgon_ns *ns);
int gorgon_dl_addr1(const void *addr, Dl_info *info, void **extra, int flags, struct gorgon_ns *ns);
int gorgon_dl_info(void *handle, int request, void *arg, struct gorgon_ns *ns);
int gorgon_dl_iterate_phdr(int (*fn)(struct dl_phdr_info *info, size_t size, void *ctx), void *ctx,
			   struct gorgon_ns *ns);

#endif
