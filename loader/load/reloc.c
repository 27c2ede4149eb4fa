// SPDX-License-Identifier: MIT
// Relocating a mapped object. arch_*.h says what the types of relocations mean. image_dynamic.c
// has checked that every relocation writes inside a writable segment and names an existing symbol.
//
// Everything is bound at once, as with RTLD_NOW, and nothing lazily, so that the PLT's GOT can be
// read-only. Each symbol is looked up once per object, because many relocations name one symbol
// (ten in a libpython, on average), and the result serves further copies (plan.c). Relocations of
// type IRELATIVE come last, because the resolvers that they call may use what the others have
// filled in.
//
// References to static TLS of private objects wait until the whole load set is relocated: when the
// block is made, its initial values are copied to all threads, and they may contain addresses.

#define _GNU_SOURCE
#include "reloc.h"
#include "image/arch.h"
#include "base/error.h"
#include "image/relr.h"
#include "plan.h"
#include "scope.h"
#include "ns/static_tls.h"
#include "ns/tls.h"

#include <stdlib.h>
#include <string.h>

struct pass {
	struct gorgon_object *object;
	const struct gorgon_scope *scope;
	struct gorgon_binding *bindings; // by symbol index, made and filled on demand
	bool *bound;
	struct gorgon_plan_values plan;
	bool static_tls; // this is the second pass, for references to static TLS only
	bool irelative;	 // there are relocations of type IRELATIVE, which come last
};

static void write_field(uint64_t addr, unsigned width, uint64_t value)
{
	memcpy((void *)(uintptr_t)addr, &value, width); // little-endian; may be unaligned
}

static uint64_t read_field(uint64_t addr)
{
	uint64_t value;

	memcpy(&value, (const void *)(uintptr_t)addr, sizeof(value));
	return value;
}

static struct gorgon_error *unresolved(const struct gorgon_object *object,
				       const struct gorgon_symbol_query *query)
{
	if (query->version)
		return gorgon_error_create(
			GORGON_ERROR_UNRESOLVED, "%s: undefined symbol: %s, version %s of %s",
			object->path, query->name, query->version, query->file ?: "itself");
	return gorgon_error_create(GORGON_ERROR_UNRESOLVED, "%s: undefined symbol: %s",
				   object->path, query->name);
}

// Whether a reference never leaves the object: the symbol is local, or the object defines it with a
// visibility that forbids interposition.
static bool binds_locally(const Elf64_Sym *sym)
{
	return ELF64_ST_BIND(sym->st_info) == STB_LOCAL ||
	       (sym->st_shndx != SHN_UNDEF && ELF64_ST_VISIBILITY(sym->st_other) != STV_DEFAULT);
}

static bool make_bindings(struct pass *pass)
{
	// index 0 exists even without symbols
	size_t count = pass->object->image->symbol_count + 1u;

	pass->bindings = calloc(count, sizeof(*pass->bindings));
	pass->bound = calloc(count, sizeof(*pass->bound));
	return pass->bindings && pass->bound;
}

static struct gorgon_error *reloc_bind(struct pass *pass, uint32_t index,
				       struct gorgon_binding **ret)
{
	struct gorgon_object *object = pass->object;
	const Elf64_Sym *sym = &object->image->symbols[index];
	struct gorgon_binding *binding;
	struct gorgon_symbol_query query;

	if (!pass->bindings && !make_bindings(pass))
		return &gorgon_error_nomem;
	*ret = binding = &pass->bindings[index];
	if (pass->bound[index])
		return NULL;
	if (!index || binds_locally(sym)) {
		*binding = (struct gorgon_binding){.found = true,
						   .object = object,
						   .sym = sym,
						   .first = object,
						   .first_sym = sym};
		pass->bound[index] = true;
		return NULL;
	}
	query = gorgon_symbol_query_of(object->image, index);
	*binding = gorgon_scope_find(object->ns, object, pass->scope, &query);
	if (binding->no_memory)
		return &gorgon_error_nomem;
	if (!binding->found && ELF64_ST_BIND(sym->st_info) != STB_WEAK)
		return unresolved(object, &query);
	if (binding->object && !gorgon_object_add_ref(object, binding->object))
		return &gorgon_error_nomem;
	pass->bound[index] = true;
	return NULL;
}

static struct gorgon_error *tls_error(const struct gorgon_object *object, uint32_t index,
				      const char *why)
{
	const struct gorgon_image *image = object->image;

	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED, "%s: thread-local symbol %s: %s",
				   object->path,
				   index ? image->strtab + image->symbols[index].st_name : "(own)",
				   why);
}

static struct gorgon_error *static_tls_value(struct pass *pass, struct gorgon_object *definer,
					     uint64_t offset, uint64_t *value)
{
	struct gorgon_error *err;

	*value = 0;
	if (!pass->static_tls && !definer->static_tls) {
		pass->object->static_tls_pending = true;
		return NULL;
	}
	if (!definer->static_tls && (err = gorgon_static_tls_create(definer)))
		return err;
	*value = (uint64_t)gorgon_static_tls_offset(definer->static_tls) + offset;
	return NULL;
}

// The values of the three kinds of TLS relocations. A symbol of a shared library has the system's
// module id, which our __tls_get_addr() passes on to the system's.
static struct gorgon_error *tls_value(struct pass *pass, enum gorgon_reloc_kind kind,
				      uint32_t index, struct gorgon_binding *binding,
				      uint64_t addend, uint64_t *value)
{
	struct gorgon_object *object = pass->object;
	bool private = binding->object != NULL;

	if (!binding->found) { // weak: there is nothing to find at run time either
		*value = 0;
		return NULL;
	}
	if (!private && !gorgon_system_find_tls(&binding->system))
		return tls_error(object, index, "the system's definition is not thread-local");
	if (private && !binding->object->tls_module)
		return tls_error(object, index, "defined in an object without PT_TLS");
	switch (kind) {
	case GORGON_RELOC_TLS_MODULE:
		*value = private ? binding->object->tls_module : binding->system.tls_module;
		return NULL;
	case GORGON_RELOC_TLS_OFFSET:
		*value = (private ? (index ? binding->sym->st_value : 0)
				  : binding->system.tls_offset) +
			 addend;
		return NULL;
	default:
		if (private)
			return static_tls_value(pass, binding->object,
						(index ? binding->sym->st_value : 0) + addend,
						value);
		// A static block of the system's has the same distance in every thread. Whether a
		// block is static the system's linker decides when it loads the library.
		if (!gorgon_system_tls_is_static(&binding->system))
			return tls_error(object, index,
					 "referred to as initial-exec, but its library was loaded "
					 "without room for it in every thread's static block");
		*value = (uintptr_t)binding->system.addr - (uintptr_t)__builtin_thread_pointer() +
			 addend;
		return NULL;
	}
}

static struct gorgon_error *symbol_value(struct pass *pass, const Elf64_Rela *rela,
					 enum gorgon_reloc_kind kind, uint64_t *value)
{
	uint32_t type = ELF64_R_TYPE(rela->r_info);
	uint32_t index = ELF64_R_SYM(rela->r_info);
	uint64_t addend = gorgon_arch_reloc_has_addend(type) ? (uint64_t)rela->r_addend : 0;
	struct gorgon_binding *binding;
	struct gorgon_error *err;
	uint64_t addr = 0;

	if ((err = reloc_bind(pass, index, &binding)))
		return err;
	if (kind == GORGON_RELOC_TLS_MODULE || kind == GORGON_RELOC_TLS_OFFSET ||
	    kind == GORGON_RELOC_TLS_STATIC)
		return tls_value(pass, kind, index, binding, addend, value);
	if (kind == GORGON_RELOC_SIZE) {
		*value = (binding->sym ? binding->sym->st_size : 0) + addend;
		return NULL;
	}
	if (binding->sym && index && ELF64_ST_TYPE(binding->sym->st_info) == STT_TLS)
		return tls_error(pass->object, index, "referred to as if it were not thread-local");
	// Symbol 0 is the number 0, not the load address.
	if (index)
		addr = (uintptr_t)gorgon_binding_address(binding);
	*value = addr + addend;
	if (kind == GORGON_RELOC_PC)
		*value -= pass->object->bias + rela->r_offset;
	return NULL;
}

static uint64_t count_descriptors(const Elf64_Rela *rela, uint64_t count)
{
	uint64_t ret = 0;

	for (uint64_t i = 0; i < count; i++)
		ret += gorgon_arch_reloc_kind(ELF64_R_TYPE(rela[i].r_info)) ==
		       GORGON_RELOC_TLS_DESC;
	return ret;
}

// A descriptor holds a function of ours and what it is called with: a module and an offset. They
// are in one array per object, which is large enough from the start and never moves, because the
// object's memory has addresses of its items.
static struct gorgon_error *apply_descriptor(struct pass *pass, const Elf64_Rela *rela)
{
	struct gorgon_object *object = pass->object;
	const struct gorgon_image *image = object->image;
	uint32_t symbol = ELF64_R_SYM(rela->r_info);
	struct gorgon_binding *binding;
	struct gorgon_tls_index *index;
	struct gorgon_error *err;

	if (!object->tls_indices) {
		object->tls_indices =
			calloc(count_descriptors(image->rela, image->rela_count) +
				       count_descriptors(image->jmprel, image->jmprel_count),
			       sizeof(*object->tls_indices));
		if (!object->tls_indices)
			return &gorgon_error_nomem;
	}
	index = &object->tls_indices[object->tls_index_count];
	if ((err = reloc_bind(pass, symbol, &binding)) ||
	    (err = tls_value(pass, GORGON_RELOC_TLS_MODULE, symbol, binding, 0, &index->module)) ||
	    (err = tls_value(pass, GORGON_RELOC_TLS_OFFSET, symbol, binding,
			     (uint64_t)rela->r_addend, &index->offset)))
		return err;
	object->tls_index_count++;
	write_field(object->bias + rela->r_offset, 8,
		    (uintptr_t)(binding->found ? gorgon_tlsdesc : gorgon_tlsdesc_undefined));
	write_field(object->bias + rela->r_offset + 8, 8,
		    binding->found ? (uintptr_t)index : (uint64_t)rela->r_addend);
	return NULL;
}

static struct gorgon_error *reloc_apply(struct pass *pass, const Elf64_Rela *rela)
{
	uint32_t type = ELF64_R_TYPE(rela->r_info);
	enum gorgon_reloc_kind kind = gorgon_arch_reloc_kind(type);
	struct gorgon_object *object = pass->object;
	struct gorgon_error *err;
	uint64_t value = 0;

	pass->irelative |= kind == GORGON_RELOC_IRELATIVE;
	if (kind == GORGON_RELOC_NONE || kind == GORGON_RELOC_IRELATIVE)
		return NULL;
	if (pass->static_tls && kind != GORGON_RELOC_TLS_STATIC)
		return NULL;
	if (kind == GORGON_RELOC_TLS_DESC)
		return apply_descriptor(pass, rela);
	if ((err = symbol_value(pass, rela, kind, &value)))
		return err;
	if (!gorgon_arch_reloc_fits(type, value))
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"%s: relocation type %u at 0x%lx: value 0x%lx does not fit into 32 bits; "
			"build with -fPIC",
			object->path, type, rela->r_offset, value);
	write_field(object->bias + rela->r_offset, gorgon_arch_reloc_width(type), value);
	return NULL;
}

// By far most relocations are of type RELATIVE, which takes nothing but the bias, and linkers put
// them in one row. How many there are in front.
static uint64_t apply_relative(const struct pass *pass, const Elf64_Rela *rela, uint64_t count)
{
	const uint32_t type = ELF64_R_TYPE(rela->r_info);
	const uint64_t bias = pass->object->bias;
	uint64_t i = 0;

	if (gorgon_arch_reloc_kind(type) != GORGON_RELOC_RELATIVE)
		return 0;
	for (; i < count && ELF64_R_TYPE(rela[i].r_info) == type; i++)
		if (!pass->static_tls)
			write_field(bias + rela[i].r_offset, 8, bias + (uint64_t)rela[i].r_addend);
	return i;
}

// Fill in words with the addresses of symbols that the plan knows, as long as their relocations are
// of one type. How many these are: 0 if the plan cannot serve the first one.
static uint64_t apply_planned(const struct pass *pass, const Elf64_Rela *rela, uint64_t count)
{
	const uint32_t type = ELF64_R_TYPE(rela->r_info);
	const uint64_t addends = gorgon_arch_reloc_has_addend(type) ? UINT64_MAX : 0;
	const struct gorgon_plan_values plan = pass->plan;
	const uint64_t bias = pass->object->bias;
	uint64_t i = 0;

	if (!plan.values || gorgon_arch_reloc_kind(type) != GORGON_RELOC_SYMBOL ||
	    gorgon_arch_reloc_width(type) != 8)
		return 0;
	for (; i < count && ELF64_R_TYPE(rela[i].r_info) == type; i++) {
		uint64_t index = ELF64_R_SYM(rela[i].r_info);

		if (!index || !plan.known[index])
			break;
		write_field(bias + rela[i].r_offset, 8,
			    plan.values[index] + ((uint64_t)rela[i].r_addend & addends));
	}
	return i;
}

static struct gorgon_error *apply_table(struct pass *pass, const Elf64_Rela *rela, uint64_t count)
{
	struct gorgon_error *err;

	for (uint64_t i = 0, done; i < count; i += done) {
		done = apply_relative(pass, &rela[i], count - i);
		if (!done)
			done = apply_planned(pass, &rela[i], count - i);
		if (done)
			continue;
		if ((err = reloc_apply(pass, &rela[i])))
			return err;
		done = 1;
	}
	return NULL;
}

static void apply_irelative(const struct gorgon_object *object, const Elf64_Rela *rela,
			    uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (gorgon_arch_reloc_kind(ELF64_R_TYPE(rela[i].r_info)) != GORGON_RELOC_IRELATIVE)
			continue;
		write_field(object->bias + rela[i].r_offset, 8,
			    gorgon_arch_resolve(object->bias + (uint64_t)rela[i].r_addend));
	}
}

static void apply_relr(const struct gorgon_object *object)
{
	struct gorgon_relr_walk walk = {0};
	struct gorgon_relr_step step;
	uint64_t bias = object->bias;

	for (uint64_t i = 0; i < object->image->relr_count; i++) {
		// image_dynamic.c has checked it
		gorgon_relr_step(&walk, object->image->relr[i], &step);
		for (uint64_t words = step.words; words; words &= words - 1) {
			uint64_t at = bias + step.vaddr + 8 * (uint64_t)__builtin_ctzll(words);

			write_field(at, 8, read_field(at) + bias);
		}
	}
}

static struct gorgon_error *apply_tables(struct gorgon_object *object,
					 const struct gorgon_scope *scope, bool static_tls)
{
	const struct gorgon_image *image = object->image;
	struct pass pass = {
		.object = object,
		.scope = scope,
		.static_tls = static_tls,
	};
	struct gorgon_error *err =
		static_tls ? NULL : gorgon_plan_replay(object, scope, &pass.plan);

	if (!err)
		err = apply_table(&pass, image->rela, image->rela_count);
	if (!err)
		err = apply_table(&pass, image->jmprel, image->jmprel_count);
	if (!err && !static_tls && !pass.plan.values && pass.bindings)
		gorgon_plan_record(object, scope, pass.bindings, pass.bound);
	gorgon_plan_values_deinit(&pass.plan);
	free(pass.bindings);
	free(pass.bound);
	if (!err && !static_tls && pass.irelative) {
		apply_irelative(object, image->rela, image->rela_count);
		apply_irelative(object, image->jmprel, image->jmprel_count);
	}
	return err;
}

static bool defines_version(const struct gorgon_image *image, const struct gorgon_version *need)
{
	for (uint32_t i = 0; i < image->version_count; i++) {
		const struct gorgon_version *version = &image->versions[i];

		if (version->name && !version->file && version->hash == need->hash &&
		    !strcmp(version->name, need->name))
			return true;
	}
	return !strcmp(need->name, image->soname); // the base definition
}

// A need that no reference has shown to be unmet: the library is another release than the one
// that was linked with. As the system's linker, one without versions has all of them.
static struct gorgon_error *check_need(const struct gorgon_object *object,
				       const struct gorgon_version *need)
{
	for (size_t i = 0; i < object->dep_count; i++) {
		const struct gorgon_image *image = object->deps[i]->image;

		if (image->soname && !strcmp(image->soname, need->file) && image->has_verdef &&
		    !defines_version(image, need))
			return gorgon_error_create(GORGON_ERROR_UNRESOLVED,
						   "%s: needs version %s of %s, which %s "
						   "does not define",
						   object->path, need->name, need->file,
						   object->deps[i]->path);
	}
	return NULL;
}

// Of private libraries. What the system's linker has loaded answers symbol by symbol.
static struct gorgon_error *check_needs(const struct gorgon_object *object)
{
	const struct gorgon_image *image = object->image;
	struct gorgon_error *err;

	for (uint32_t i = 0; i < image->version_count; i++)
		if (image->versions[i].file && !image->versions[i].weak &&
		    (err = check_need(object, &image->versions[i])))
			return err;
	return NULL;
}

struct gorgon_error *gorgon_relocate(struct gorgon_object *object,
				     const struct gorgon_scope *scope)
{
	struct gorgon_error *err;

	if ((err = check_needs(object)))
		return err;
	apply_relr(object);
	return apply_tables(object, scope, false);
}

struct gorgon_error *gorgon_relocate_static_tls(struct gorgon_object *object,
						const struct gorgon_scope *scope)
{
	if (!object->static_tls_pending)
		return NULL;
	object->static_tls_pending = false;
	return apply_tables(object, scope, true);
}
