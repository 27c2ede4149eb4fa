// SPDX-License-Identifier: MIT
// Reading and validating the ELF header and the program headers of a shared object.
// Specification: gABI chapters 4 and 5, psABI x86-64.

#define _GNU_SOURCE
#include "base/arch.h"
#include "eh_frame.h"
#include "base/error.h"
#include "image.h"
#include "property.h"
#include "written.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// More program headers than any linker writes; a bound for hostile files.
#define PHDR_MAX 512
#define GNU_ABI_VERSION 4 // the last one of EI_ABIVERSION that glibc 2.36 knows

// Addresses stay below this, so that sums of two of them cannot overflow.
#define VADDR_MAX (UINT64_C(1) << 46)

#define bad(image, ...)                                                                            \
	gorgon_error_prefix(gorgon_error_create(GORGON_ERROR_FORMAT, __VA_ARGS__), (image)->path)

// As the system's linker, which knows GNU's extensions up to LIBC_ABI_MAX.
static bool is_known_abi(const unsigned char *ident)
{
	static const unsigned char padding[EI_NIDENT - EI_PAD];

	if (memcmp(ident + EI_PAD, padding, sizeof(padding)))
		return false;
	if (ident[EI_OSABI] == ELFOSABI_GNU)
		return ident[EI_ABIVERSION] <= GNU_ABI_VERSION;
	return ident[EI_OSABI] == ELFOSABI_SYSV && !ident[EI_ABIVERSION];
}

static struct gorgon_error *check_ehdr(struct gorgon_image *image)
{
	const unsigned char *ident = image->file;
	GElf_Ehdr ehdr;

	if (image->file_size < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG))
		return bad(image, "not an ELF file (%llu bytes)",
			   (unsigned long long)image->file_size);
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return gorgon_error_create(GORGON_ERROR_MACHINE,
					   "%s: class %u and data encoding %u, expected ELFCLASS64 "
					   "(2) and ELFDATA2LSB (1)",
					   image->path, ident[EI_CLASS], ident[EI_DATA]);
	if (image->file_size < sizeof(Elf64_Ehdr) || !gelf_getehdr(image->elf, &ehdr))
		return bad(image, "truncated in the ELF header (%llu bytes)",
			   (unsigned long long)image->file_size);
	if (ehdr.e_machine != GORGON_ARCH_MACHINE)
		return gorgon_error_create(GORGON_ERROR_MACHINE,
					   "%s: e_machine is %u, this process is %s (%u)",
					   image->path, ehdr.e_machine, GORGON_ARCH_NAME,
					   GORGON_ARCH_MACHINE);
	if (!is_known_abi(ident))
		return gorgon_error_create(
			GORGON_ERROR_MACHINE,
			"%s: EI_OSABI is %u, version %u; expected System V (0) or GNU (3)",
			image->path, ident[EI_OSABI], ident[EI_ABIVERSION]);
	if (ehdr.e_version != EV_CURRENT)
		return bad(image, "e_version is %u, expected %u", ehdr.e_version, EV_CURRENT);
	if (ehdr.e_type != ET_DYN)
		return bad(image, "e_type is %u, expected a shared object, ET_DYN (3)",
			   ehdr.e_type);
	if (ehdr.e_phentsize != sizeof(Elf64_Phdr))
		return bad(image, "e_phentsize is %u, expected %zu", ehdr.e_phentsize,
			   sizeof(Elf64_Phdr));
	return NULL;
}

static struct gorgon_error *add_segment(struct gorgon_image *image, const GElf_Phdr *ph)
{
	struct gorgon_segment *prev =
		image->segment_count ? &image->segments[image->segment_count - 1] : NULL;
	uint64_t page = (uint64_t)getpagesize();
	unsigned n = (unsigned)image->segment_count;

	if (ph->p_filesz > ph->p_memsz)
		return bad(image, "segment %u: p_filesz 0x%lx is larger than p_memsz 0x%lx", n,
			   ph->p_filesz, ph->p_memsz);
	if (ph->p_offset > image->file_size || ph->p_filesz > image->file_size - ph->p_offset)
		return bad(image, "segment %u: ends at 0x%lx, the file at 0x%lx", n,
			   ph->p_offset + ph->p_filesz, image->file_size);
	if (ph->p_vaddr > VADDR_MAX || ph->p_memsz > VADDR_MAX)
		return bad(image, "segment %u: address 0x%lx or size 0x%lx is out of range", n,
			   ph->p_vaddr, ph->p_memsz);
	if (ph->p_align > 1 && (ph->p_align & (ph->p_align - 1) || ph->p_align > VADDR_MAX))
		return bad(image, "segment %u: p_align 0x%lx is no power of two", n, ph->p_align);
	if ((ph->p_vaddr ^ ph->p_offset) & (page - 1))
		return bad(image,
			   "segment %u: p_vaddr 0x%lx and p_offset 0x%lx differ within a page", n,
			   ph->p_vaddr, ph->p_offset);
	if ((ph->p_flags & (PF_W | PF_X)) == (PF_W | PF_X))
		return bad(image, "segment %u: writable and executable", n);
	if (ph->p_memsz > ph->p_filesz && !(ph->p_flags & PF_W))
		return bad(image,
			   "segment %u: zero-filled memory in a segment that is not writable", n);
	if (prev && (ph->p_vaddr & -page) < ((prev->vaddr + prev->mem_size + page - 1) & -page))
		return bad(image,
			   "segment %u: shares a page with the one before or is out of order", n);
	image->segments[image->segment_count++] = (struct gorgon_segment){
		.vaddr = ph->p_vaddr,
		.mem_size = ph->p_memsz,
		.off = ph->p_offset,
		.file_size = ph->p_filesz,
		.prot = (ph->p_flags & PF_R ? PROT_READ : 0) |
			(ph->p_flags & PF_W ? PROT_WRITE : 0) |
			(ph->p_flags & PF_X ? PROT_EXEC : 0),
	};
	if (ph->p_align > image->align)
		image->align = ph->p_align;
	return NULL;
}

static struct gorgon_error *read_segments(struct gorgon_image *image, size_t phdr_count)
{
	struct gorgon_error *err;
	uint64_t page = (uint64_t)getpagesize();
	GElf_Phdr ph;

	image->segments = calloc(phdr_count, sizeof(*image->segments));
	if (!image->segments)
		return &gorgon_error_nomem;
	image->align = page;
	for (size_t i = 0; i < phdr_count; i++) {
		if (!gelf_getphdr(image->elf, (int)i, &ph))
			return bad(image, "program header %zu: %s", i, elf_errmsg(-1));
		if (ph.p_type == PT_LOAD && ph.p_memsz && (err = add_segment(image, &ph)))
			return err;
		if (ph.p_type == PT_GNU_STACK && ph.p_flags & PF_X)
			return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
						   "%s: asks for an executable stack", image->path);
	}
	if (!image->segment_count)
		return bad(image, "no segment to load");

	const struct gorgon_segment *first = &image->segments[0];
	const struct gorgon_segment *last = &image->segments[image->segment_count - 1];

	image->vaddr_start = first->vaddr & -page;
	image->vaddr_end = (last->vaddr + last->mem_size + page - 1) & -page;
	return gorgon_property_check(image);
}

static struct gorgon_error *read_tls(struct gorgon_image *image, const GElf_Phdr *ph)
{
	if (!ph->p_memsz)
		return NULL;
	if (ph->p_filesz > ph->p_memsz || ph->p_memsz > VADDR_MAX)
		return bad(image, "PT_TLS: p_filesz 0x%lx, p_memsz 0x%lx", ph->p_filesz,
			   ph->p_memsz);
	if (ph->p_align > 1 && (ph->p_align & (ph->p_align - 1) || ph->p_align > VADDR_MAX))
		return bad(image, "PT_TLS: p_align 0x%lx is no power of two", ph->p_align);
	if (ph->p_filesz && !gorgon_image_at(image, ph->p_vaddr, ph->p_filesz))
		return bad(image, "PT_TLS: initialisation image at 0x%lx is in no segment",
			   ph->p_vaddr);
	image->tls.vaddr = ph->p_vaddr;
	image->tls.file_size = ph->p_filesz;
	image->tls.mem_size = ph->p_memsz;
	image->tls.align = ph->p_align ? ph->p_align : 1;
	return NULL;
}

// .eh_frame_hdr: version 1, then the encoding of the pointer to .eh_frame, for
// which every linker writes DW_EH_PE_pcrel | DW_EH_PE_sdata4.
static void find_eh_frame(struct gorgon_image *image, const GElf_Phdr *ph)
{
	const uint8_t *hdr = gorgon_image_at(image, ph->p_vaddr, 8);
	const struct gorgon_segment *seg;
	const uint8_t *frame;
	uint64_t vaddr, size;
	int32_t rel;

	if (!hdr || hdr[0] != 1 || hdr[1] != 0x1b)
		return;
	memcpy(&rel, hdr + 4, 4);
	vaddr = ph->p_vaddr + 4 + (uint64_t)(int64_t)rel;
	seg = gorgon_image_segment(image, vaddr, 4);
	if (!seg || vaddr - seg->vaddr >= seg->file_size)
		return;
	size = seg->file_size - (vaddr - seg->vaddr);
	frame = gorgon_image_at(image, vaddr, size);
	image->eh_frame_hdr_vaddr = ph->p_vaddr;
	// Registering with the unwinder by hand walks to the terminator.
	if (frame && gorgon_eh_frame_is_terminated(frame, size)) {
		image->eh_frame_vaddr = vaddr;
		image->eh_frame_size = size;
	}
}

static struct gorgon_error *read_phdrs(struct gorgon_image *image)
{
	struct gorgon_error *err;
	uint64_t dyn_vaddr = 0, dyn_size = 0;
	size_t count;
	GElf_Phdr ph;

	if (elf_getphdrnum(image->elf, &count) || !count || count > PHDR_MAX)
		return bad(image, "no usable program headers");
	image->phdrs = elf64_getphdr(image->elf);
	image->phdr_count = count;
	if (!image->phdrs)
		return bad(image, "program headers: %s", elf_errmsg(-1));
	if ((uintptr_t)image->phdrs % _Alignof(Elf64_Phdr))
		return bad(image, "e_phoff is no multiple of %zu", _Alignof(Elf64_Phdr));
	if ((err = read_segments(image, count)))
		return err;
	for (size_t i = 0; i < count; i++) {
		gelf_getphdr(image->elf, (int)i, &ph);
		switch (ph.p_type) {
		case PT_DYNAMIC:
			dyn_vaddr = ph.p_vaddr;
			dyn_size = ph.p_filesz;
			break;
		case PT_TLS:
			if ((err = read_tls(image, &ph)))
				return err;
			break;
		case PT_GNU_RELRO:
			if (!gorgon_image_segment(image, ph.p_vaddr, 1) ||
			    ph.p_memsz > image->vaddr_end - ph.p_vaddr)
				return bad(image, "PT_GNU_RELRO: 0x%lx is in no segment",
					   ph.p_vaddr);
			image->relro_vaddr = ph.p_vaddr;
			image->relro_size = ph.p_memsz;
			break;
		case PT_GNU_EH_FRAME:
			find_eh_frame(image, &ph);
			break;
		default:
			break;
		}
	}
	if (!dyn_size)
		return bad(image, "no PT_DYNAMIC: not a shared object");
	return gorgon_image_read_dynamic(image, dyn_vaddr, dyn_size);
}

struct gorgon_error *gorgon_image_read(struct gorgon_image *image)
{
	struct gorgon_error *err;
	size_t size = 0;

	if (!image->elf)
		return bad(image, "libelf: %s", elf_errmsg(-1));
	image->file = (const uint8_t *)elf_rawfile(image->elf, &size);
	image->file_size = size;
	if (!image->file)
		return bad(image, "not an ELF file (%zu bytes)", size);
	if ((err = check_ehdr(image)) || (err = read_phdrs(image)))
		return err;
	return gorgon_image_find_written(image) ? NULL : &gorgon_error_nomem;
}
