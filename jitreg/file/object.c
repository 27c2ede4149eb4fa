// SPDX-License-Identifier: MIT
/*
 * Reading and checking the ELF file that somebody has mapped.
 *
 * The file is read with pread(), by libelf and here: the caller's descriptor keeps
 * its offset. The file is never mapped, because a file that shrinks under a mapping kills
 * the process. So a descriptor is open while the file is read. Another thread may close that
 * descriptor and open another file under its number; therefore whoever has read something asks
 * jitreg_object_is_intact() before using it.
 *
 * What the rest of jitreg uses has been range-checked here: segments lie
 * in the file, sections lie in segments. An allocated section outside every
 * segment (left behind by rewriting tools) is dropped, since no run-time
 * address belongs to it; the exception is .tbss, which has no place in memory by
 * design and whose name a debugger expects to find.
 *
 * A file without section headers gets sections that are made up: one per PT_LOAD, and
 * .eh_frame, found through the header that PT_GNU_EH_FRAME points at:
 *
 *      PT_LOAD R      PT_LOAD R E    PT_LOAD R            PT_LOAD RW
 *     | .rodata    | | .text      | | .rodata [.eh_frame]| | .data    |
 *
 * Specifications: gABI chapters 4 and 5; LSB core 10.6 (.eh_frame,
 * .eh_frame_hdr).
 */
#include "object.h"

#include "machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every section and symbol is compared with each program header, so there must not be too many:
 * real objects have a dozen. */
#define PHDR_MAX 1024

/* O_NONBLOCK: the name may be that of a FIFO; for regular files it means nothing. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* A descriptor of our own. A duplicate shares the caller's offset, which nothing here moves. */
static int open_file(const char *path, int fd)
{
	int own = fd < 0 ? open(path, OPEN_FLAGS) : fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return own < 0 ? -errno : own;
}

static int check_ehdr(struct jitreg_object *object)
{
	const GElf_Ehdr *ehdr = &object->ehdr;
	uint64_t file_size = (uint64_t)object->st.st_size;

	if (gelf_getclass(object->elf) != ELFCLASS64 || !gelf_getehdr(object->elf, &object->ehdr))
		return -ENOEXEC;
	object->machine = jitreg_machine_find(ehdr->e_machine);
	if (ehdr->e_ident[EI_DATA] != JITREG_DATA || !object->machine)
		return -ENOEXEC;
	if (ehdr->e_phnum && ehdr->e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	if (ehdr->e_shnum && ehdr->e_shentsize != sizeof(Elf64_Shdr))
		return -ENOEXEC;

	if (elf_getphdrnum(object->elf, &object->phdr_count) ||
	    elf_getshdrnum(object->elf, &object->shdr_count))
		return -ENOEXEC;
	if (object->phdr_count > file_size || object->shdr_count > file_size ||
	    !jitreg_range_ok(ehdr->e_phoff, object->phdr_count * sizeof(Elf64_Phdr), file_size) ||
	    !jitreg_range_ok(ehdr->e_shoff, object->shdr_count * sizeof(Elf64_Shdr), file_size))
		return -ENOEXEC;
	// libelf quietly reports no sections when the table is cut off
	if (ehdr->e_shnum && ehdr->e_shnum != object->shdr_count)
		return -ENOEXEC;
	if (elf_getshdrstrndx(object->elf, &object->shstrndx))
		object->shstrndx = SHN_UNDEF;
	// With 65280 sections and more, symbols need a second index table; no real
	// shared object is like that, and the segments say enough.
	object->sectionless = object->shdr_count < 2 || object->shdr_count >= SHN_LORESERVE - 16 ||
			      object->shstrndx == SHN_UNDEF;
	return 0;
}

int jitreg_object_open(const char *path, int fd, struct jitreg_object **ret)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	int r;

	object = calloc(1, sizeof(*object));
	if (!object)
		return -ENOMEM;
	object->fd = -1;
	object->path = strdup(path);
	if (!object->path)
		return -ENOMEM;

	object->fd = open_file(path, fd);
	if (object->fd < 0)
		return object->fd;
	object->fd_flags = fcntl(object->fd, F_GETFL);
	if (fstat(object->fd, &object->st)) {
		r = -errno;
		if (r != -EBADF)
			close(object->fd);
		object->fd = -1;
		return r;
	}
	if (!S_ISREG(object->st.st_mode))
		return -ENOEXEC;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	object->elf = elf_begin(object->fd, ELF_C_READ, NULL);
	if (!object->elf || elf_kind(object->elf) != ELF_K_ELF)
		return -ENOEXEC;
	r = check_ehdr(object);
	if (r)
		return r;

	*ret = object;
	object = NULL; // now the caller's
	return 0;
}

bool jitreg_stat_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool jitreg_fd_is(int fd, int flags, const struct stat *st)
{
	struct stat now;

	return fd >= 0 && !fstat(fd, &now) && now.st_dev == st->st_dev &&
	       now.st_ino == st->st_ino && fcntl(fd, F_GETFL) == flags;
}

/* A descriptor that fstat() refuses, but that is open with these flags, is taken for ours. */
void jitreg_fd_close(int fd, int flags, const struct stat *st)
{
	struct stat now;

	if (fd >= 0 && fcntl(fd, F_GETFL) == flags &&
	    (fstat(fd, &now) ? errno != EBADF
			     : now.st_dev == st->st_dev && now.st_ino == st->st_ino))
		close(fd);
}

bool jitreg_object_is_intact(const struct jitreg_object *object)
{
	return jitreg_fd_is(object->fd, object->fd_flags, &object->st);
}

void jitreg_object_close(struct jitreg_object *object)
{
	if (!object)
		return;
	free(object->section_map);
	free(object->sections);
	if (object->elf)
		elf_end(object->elf);
	jitreg_fd_close(object->fd, object->fd_flags, &object->st);
	free(object->path);
	free(object);
}

int jitreg_object_read(const struct jitreg_object *object, uint64_t off, void *buf, size_t size)
{
	char *to = buf;

	if (!jitreg_range_ok(off, size, (uint64_t)object->st.st_size))
		return -ENOEXEC;
	while (size) {
		ssize_t n = pread(object->fd, to, size, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) // the file shrank since we looked
			return -ENOEXEC;
		to += n;
		off += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

int jitreg_object_find_section(const struct jitreg_object *object, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;

	if (object->shstrndx == SHN_UNDEF)
		return 0;
	while ((scn = elf_nextscn(object->elf, scn))) {
		const char *found;

		if (!gelf_getshdr(scn, ret) || ret->sh_type == SHT_NOBITS)
			continue;
		found = elf_strptr(object->elf, object->shstrndx, ret->sh_name);
		if (found && !strcmp(found, name))
			return jitreg_range_ok(ret->sh_offset, ret->sh_size,
					       (uint64_t)object->st.st_size);
	}
	return 0;
}

bool jitreg_object_vaddr_to_off(const struct jitreg_object *object, uint64_t vaddr, uint64_t size,
				uint64_t *ret)
{
	GElf_Phdr phdr;

	for (size_t i = 0; i < object->phdr_count; i++) {
		if (!gelf_getphdr(object->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		if (vaddr < phdr.p_vaddr ||
		    !jitreg_range_ok(vaddr - phdr.p_vaddr, size, phdr.p_filesz))
			continue;
		*ret = phdr.p_offset + (vaddr - phdr.p_vaddr);
		return true;
	}
	return false;
}

/*
 * A block of notes has several entries, each padded to @align. libelf, like debuggers,
 * passes over the last entry if its padding is missing.
 */
static size_t find_build_id_note(const struct jitreg_object *object, uint64_t off, uint64_t size,
				 uint64_t align, uint8_t *buf, size_t buf_size)
{
	size_t at = 0, name_off, desc_off;
	GElf_Nhdr nhdr;
	Elf_Data *data;

	data = elf_getdata_rawchunk(object->elf, (int64_t)off, size,
				    align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	if (!data)
		return 0;
	while ((at = gelf_getnote(data, at, &nhdr, &name_off, &desc_off))) {
		const char *bytes = data->d_buf;

		if (nhdr.n_type != NT_GNU_BUILD_ID || nhdr.n_namesz != sizeof("GNU") ||
		    memcmp(bytes + name_off, "GNU", sizeof("GNU")) != 0 || !nhdr.n_descsz)
			continue;
		if (nhdr.n_descsz < buf_size)
			buf_size = nhdr.n_descsz;
		memcpy(buf, bytes + desc_off, buf_size);
		return buf_size;
	}
	return 0;
}

size_t jitreg_object_build_id(const struct jitreg_object *object, uint8_t *buf, size_t buf_size)
{
	uint64_t file_size = (uint64_t)object->st.st_size;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Phdr phdr;
	size_t size;

	// by section if there are any: the segments of a detached debug file are empty
	while ((scn = elf_nextscn(object->elf, scn))) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_NOTE ||
		    !jitreg_range_ok(shdr.sh_offset, shdr.sh_size, file_size))
			continue;
		size = find_build_id_note(object, shdr.sh_offset, shdr.sh_size, shdr.sh_addralign,
					  buf, buf_size);
		if (size)
			return size;
	}
	for (size_t i = 0; object->sectionless && i < object->phdr_count; i++) {
		if (!gelf_getphdr(object->elf, (int)i, &phdr) || phdr.p_type != PT_NOTE ||
		    !jitreg_range_ok(phdr.p_offset, phdr.p_filesz, file_size))
			continue;
		size = find_build_id_note(object, phdr.p_offset, phdr.p_filesz, phdr.p_align, buf,
					  buf_size);
		if (size)
			return size;
	}
	return 0;
}

static int check_segments(const struct jitreg_object *object)
{
	size_t load_count = 0;
	GElf_Phdr phdr;

	if (object->ehdr.e_type != ET_DYN && object->ehdr.e_type != ET_EXEC)
		return -ENOEXEC;
	if (object->phdr_count > PHDR_MAX)
		return -ENOEXEC;
	for (size_t i = 0; i < object->phdr_count; i++) {
		if (!gelf_getphdr(object->elf, (int)i, &phdr))
			return -ENOEXEC;
		if (phdr.p_type != PT_LOAD)
			continue;
		if (phdr.p_filesz > phdr.p_memsz || phdr.p_vaddr + phdr.p_memsz < phdr.p_vaddr ||
		    !jitreg_range_ok(phdr.p_offset, phdr.p_filesz, (uint64_t)object->st.st_size))
			return -ENOEXEC;
		load_count++;
	}
	return load_count ? 0 : -ENOEXEC;
}

static bool is_in_segment(const struct jitreg_object *object, uint64_t vaddr, uint64_t size)
{
	GElf_Phdr phdr;

	for (size_t i = 0; i < object->phdr_count; i++) {
		if (gelf_getphdr(object->elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
		    vaddr >= phdr.p_vaddr &&
		    jitreg_range_ok(vaddr - phdr.p_vaddr, size, phdr.p_memsz))
			return true;
	}
	return false;
}

static void add_section(struct jitreg_object *object, const char *name, const GElf_Shdr *shdr)
{
	object->sections[object->section_count++] = (struct jitreg_section){
		.name = name,
		.type = shdr->sh_type,
		.flags = shdr->sh_flags,
		.vaddr = shdr->sh_addr,
		.size = shdr->sh_size,
		.off = shdr->sh_offset,
		.align = shdr->sh_addralign,
		.entsize = shdr->sh_entsize,
	};
}

static int read_sections(struct jitreg_object *object)
{
	uint64_t file_size = (uint64_t)object->st.st_size;

	object->sections = calloc(object->shdr_count, sizeof(*object->sections));
	object->section_map = calloc(object->shdr_count, sizeof(*object->section_map));
	if (!object->sections || !object->section_map)
		return -ENOMEM;

	for (size_t i = 1; i < object->shdr_count; i++) {
		Elf_Scn *scn = elf_getscn(object->elf, i);
		const char *name;
		GElf_Shdr shdr;

		if (!scn || !gelf_getshdr(scn, &shdr))
			return -ENOEXEC;
		if (!(shdr.sh_flags & SHF_ALLOC) || shdr.sh_type == SHT_NULL)
			continue;
		name = elf_strptr(object->elf, object->shstrndx, shdr.sh_name);
		if (!name ||
		    (shdr.sh_type != SHT_NOBITS &&
		     !jitreg_range_ok(shdr.sh_offset, shdr.sh_size, file_size)))
			return -ENOEXEC;
		if (!is_in_segment(object, shdr.sh_addr, shdr.sh_size) &&
		    !(shdr.sh_flags & SHF_TLS && shdr.sh_type == SHT_NOBITS))
			continue;
		add_section(object, name, &shdr);
		object->section_map[i] = (uint32_t)object->section_count;
	}
	return 0;
}

/* Size of the chain of length-prefixed records at @off, its closing zero word included. */
static uint64_t measure_eh_frame(const struct jitreg_object *object, uint64_t off, uint64_t limit)
{
	uint64_t at = 0;
	uint32_t length;
	uint64_t length64;

	while (limit - at >= sizeof(length)) {
		if (jitreg_object_read(object, off + at, &length, sizeof(length)))
			break;
		if (length == 0)
			return at + sizeof(length);
		if (length != UINT32_MAX) {
			if (length > limit - at - sizeof(length))
				break;
			at += sizeof(length) + length;
			continue;
		}
		if (limit - at < 12 || jitreg_object_read(object, off + at + 4, &length64, 8) ||
		    length64 > limit - at - 12)
			break;
		at += 12 + length64;
	}
	return at;
}

/*
 * .eh_frame_hdr starts with version 1, three encodings, and the address of
 * .eh_frame, which linkers write relative to its own place in four bytes
 * (DW_EH_PE_pcrel | DW_EH_PE_sdata4 = 0x1b). Other encodings are left alone.
 */
static void make_up_eh_frame(struct jitreg_object *object, const GElf_Phdr *hdr_phdr)
{
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_addralign = 8};
	uint8_t head[8];
	int32_t relative;
	GElf_Phdr phdr;

	if (jitreg_object_read(object, hdr_phdr->p_offset, head, sizeof(head)) || head[0] != 1 ||
	    head[1] != 0x1b)
		return;
	memcpy(&relative, head + 4, sizeof(relative));
	shdr.sh_addr = hdr_phdr->p_vaddr + 4 + (uint64_t)(int64_t)relative;

	for (size_t i = 0; i < object->phdr_count; i++) {
		if (!gelf_getphdr(object->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    shdr.sh_addr < phdr.p_vaddr || shdr.sh_addr - phdr.p_vaddr >= phdr.p_filesz)
			continue;
		shdr.sh_offset = phdr.p_offset + (shdr.sh_addr - phdr.p_vaddr);
		shdr.sh_size = measure_eh_frame(object, shdr.sh_offset,
						phdr.p_filesz - (shdr.sh_addr - phdr.p_vaddr));
		if (phdr.p_flags & PF_W)
			shdr.sh_flags |= SHF_WRITE;
		if (shdr.sh_size)
			add_section(object, ".eh_frame", &shdr);
		return;
	}
}

static int make_up_sections(struct jitreg_object *object)
{
	GElf_Phdr phdr;

	// every program header makes at most one section
	object->sections = calloc(object->phdr_count, sizeof(*object->sections));
	if (!object->sections)
		return -ENOMEM;
	for (size_t i = 0; i < object->phdr_count; i++) {
		GElf_Shdr shdr = {.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC, .sh_addralign = 1};
		const char *name = ".rodata";

		if (!gelf_getphdr(object->elf, (int)i, &phdr))
			return -ENOEXEC;
		if (phdr.p_type == PT_GNU_EH_FRAME)
			make_up_eh_frame(object, &phdr);
		if (phdr.p_type != PT_LOAD || !phdr.p_memsz)
			continue;
		shdr.sh_addr = phdr.p_vaddr;
		shdr.sh_size = phdr.p_memsz;
		if (phdr.p_flags & PF_W) {
			shdr.sh_flags |= SHF_WRITE;
			name = ".data";
		}
		if (phdr.p_flags & PF_X) {
			shdr.sh_flags |= SHF_EXECINSTR;
			name = ".text";
		}
		add_section(object, name, &shdr);
	}
	return 0;
}

int jitreg_object_read_layout(struct jitreg_object *object)
{
	int r = check_segments(object);

	if (r)
		return r;
	return object->sectionless ? make_up_sections(object) : read_sections(object);
}
