#include "emulator/code_object.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* LLVM's AMDGPU ELF conventions ("User Guide for AMDGPU Backend", Code Object). */
enum {
    MACHINE_AMDGPU = 224,
    OSABI_AMDGPU_HSA = 64,
    ABIVERSION_HSA_V5 = 3,
    ABIVERSION_HSA_V6 = 4,
    FLAGS_MACH = 0x0ff,
    FLAGS_MACH_GFX950 = 0x04f,
    FLAGS_XNACK = 0x300,
    FLAGS_XNACK_ON = 0x300,
    FLAGS_SRAMECC = 0xc00,
    FLAGS_SRAMECC_OFF = 0x800,
    RELOCATION_NONE = 0,
    RELOCATION_ABS32_LO = 1,
    RELOCATION_ABS32_HI = 2,
    RELOCATION_ABS64 = 3,
    RELOCATION_RELATIVE64 = 13
};

/* Far more than any kernel has; keeps a forged header from asking for all memory. */
static const uint64_t image_limit = UINT64_C(1) << 30;
static const size_t symbol_limit = 1 << 20;

struct reader {
    struct code_object *object;
    Elf64_Ehdr header;
    dsajit_error *error;
    dsajit_status status; /* why a function below returned false */
};

static bool inside(uint64_t offset, uint64_t length, uint64_t size)
{
    return offset <= size && length <= size - offset;
}

static bool corrupt(struct reader *reader, const char *what)
{
    reader->status = error_set(reader->error, DSAJIT_ERROR_CORRUPT, "code object: %s", what);
    return false;
}

static bool out_of_memory(struct reader *reader)
{
    reader->status =
        error_set(reader->error, DSAJIT_ERROR_OUT_OF_MEMORY, "code object: out of memory");
    return false;
}

/* Copies a table's row; the file may be misaligned in memory. */
static bool read_row(const struct reader *reader, uint64_t table, uint64_t index, void *row,
                     size_t row_size)
{
    const struct code_object *object = reader->object;
    uint64_t offset = table + index * row_size; /* index < 2^32: no wrap that `inside` would miss */
    if (table > object->size || !inside(offset, row_size, object->size))
        return false;
    memcpy(row, object->bytes + offset, row_size);
    return true;
}

static dsajit_status check_header(const struct reader *reader)
{
    const Elf64_Ehdr *header = &reader->header;
    dsajit_error *error = reader->error;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_ident[EI_VERSION] != EV_CURRENT)
        return error_set(error, DSAJIT_ERROR_CORRUPT,
                         "code object: not a 64-bit little-endian ELF file");
    if (header->e_machine != MACHINE_AMDGPU)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "code object: built for ELF machine %u, not for AMDGPU (%d)",
                         header->e_machine, MACHINE_AMDGPU);
    uint8_t abi = header->e_ident[EI_ABIVERSION];
    if (header->e_ident[EI_OSABI] != OSABI_AMDGPU_HSA ||
        (abi != ABIVERSION_HSA_V5 && abi != ABIVERSION_HSA_V6))
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "code object: OS ABI %u version %u; served are HSA code object versions 5 "
                         "and 6",
                         header->e_ident[EI_OSABI], abi);
    uint32_t flags = header->e_flags;
    if ((flags & FLAGS_MACH) != FLAGS_MACH_GFX950 || (flags & FLAGS_XNACK) == FLAGS_XNACK_ON ||
        (flags & FLAGS_SRAMECC) == FLAGS_SRAMECC_OFF)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "code object: its ELF flags 0x%x are not for gfx950:sramecc+:xnack-",
                         flags);
    if (header->e_type != ET_DYN)
        return error_set(error, DSAJIT_ERROR_CORRUPT,
                         "code object: ELF type %u is no shared object: not linked",
                         header->e_type);
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_shentsize != sizeof(Elf64_Shdr))
        return error_set(error, DSAJIT_ERROR_CORRUPT, "code object: unknown size of ELF headers");
    return DSAJIT_OK;
}

static bool read_segments(struct reader *reader)
{
    struct code_object *object = reader->object;
    for (unsigned i = 0; i < reader->header.e_phnum; i++) {
        Elf64_Phdr row;
        if (!read_row(reader, reader->header.e_phoff, i, &row, sizeof row))
            return corrupt(reader, "the program headers end behind the file");
        if (row.p_type != PT_LOAD || !row.p_memsz)
            continue;
        if (!inside(row.p_offset, row.p_filesz, object->size))
            return corrupt(reader, "a segment ends behind the file");
        if (row.p_filesz > row.p_memsz)
            return corrupt(reader, "a segment has more bytes in the file than in memory");
        if (!inside(row.p_vaddr, row.p_memsz, image_limit))
            return corrupt(reader, "a segment lies beyond 1 GiB");
        if (row.p_vaddr < object->image_size)
            return corrupt(reader, "segments overlap or are out of order");
        if (object->segment_count == CODE_SEGMENTS_MAX)
            return corrupt(reader, "too many segments");
        object->segments[object->segment_count++] = (struct code_segment){
            .address = row.p_vaddr,
            .memory_size = row.p_memsz,
            .file_offset = row.p_offset,
            .file_size = row.p_filesz,
            .writable = row.p_flags & PF_W,
        };
        object->image_size = row.p_vaddr + row.p_memsz;
    }
    return object->segment_count ? true : corrupt(reader, "nothing to load");
}

static const struct code_segment *find_segment(const struct code_object *object, uint64_t address,
                                               uint64_t size)
{
    for (size_t i = 0; i < object->segment_count; i++) {
        const struct code_segment *segment = &object->segments[i];
        if (address >= segment->address &&
            inside(address - segment->address, size, segment->memory_size))
            return segment;
    }
    return NULL;
}

const uint8_t *code_object_bytes(const struct code_object *object, uint64_t address, uint64_t size)
{
    const struct code_segment *segment = find_segment(object, address, size);
    if (!segment || !inside(address - segment->address, size, segment->file_size))
        return NULL;
    return object->bytes + segment->file_offset + (address - segment->address);
}

static bool read_section(const struct reader *reader, uint64_t index, Elf64_Shdr *section)
{
    return index < reader->header.e_shnum &&
           read_row(reader, reader->header.e_shoff, index, section, sizeof *section) &&
           (section->sh_type == SHT_NOBITS ||
            inside(section->sh_offset, section->sh_size, reader->object->size));
}

/* A NUL-terminated string of a string table, or NULL. */
static const char *read_string(const struct reader *reader, const Elf64_Shdr *strings,
                               uint64_t offset)
{
    if (strings->sh_type != SHT_STRTAB || offset >= strings->sh_size)
        return NULL;
    const char *text = (const char *)reader->object->bytes + strings->sh_offset + offset;
    return memchr(text, '\0', strings->sh_size - offset) ? text : NULL;
}

static bool read_text(struct reader *reader)
{
    struct code_object *object = reader->object;
    Elf64_Shdr names, section;
    if (!read_section(reader, reader->header.e_shstrndx, &names))
        return corrupt(reader, "no section names");
    for (unsigned i = 0; i < reader->header.e_shnum; i++) {
        if (!read_section(reader, i, &section))
            return corrupt(reader, "a section ends behind the file");
        const char *name = read_string(reader, &names, section.sh_name);
        if (!name || strcmp(name, ".text") != 0 || section.sh_type != SHT_PROGBITS)
            continue;
        const uint8_t *bytes = code_object_bytes(object, section.sh_addr, section.sh_size);
        /* The disassembler reads the section, the image is made of segments: they must agree. */
        if (!section.sh_size || bytes != object->bytes + section.sh_offset)
            return corrupt(reader, ".text isn't in a segment");
        object->text_address = section.sh_addr;
        object->text_size = section.sh_size;
        return true;
    }
    return corrupt(reader, "no .text");
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), suffix_length = strlen(suffix);
    return length > suffix_length && !strcmp(name + length - suffix_length, suffix);
}

static bool add_symbol(struct reader *reader, const Elf64_Sym *row, const char *name)
{
    struct code_object *object = reader->object;
    bool is_kernel = has_suffix(name, ".kd");
    if (is_kernel && !code_object_bytes(object, row->st_value, KERNEL_DESCRIPTOR_SIZE))
        return corrupt(reader, "a kernel descriptor lies outside the segments");
    if (!is_kernel && !find_segment(object, row->st_value, row->st_size))
        return corrupt(reader, "a variable lies outside the segments");
    char *copy = strndup(name, strlen(name) - (is_kernel ? strlen(".kd") : 0));
    if (!copy)
        return out_of_memory(reader);
    struct code_symbol symbol = {copy, row->st_value, row->st_size};
    if (is_kernel)
        object->kernels[object->kernel_count++] = symbol;
    else
        object->variables[object->variable_count++] = symbol;
    return true;
}

static bool find_section(const struct reader *reader, uint32_t type, Elf64_Shdr *section)
{
    for (unsigned i = 0; i < reader->header.e_shnum; i++)
        if (read_section(reader, i, section) && section->sh_type == type)
            return true;
    return false;
}

static bool read_symbols(struct reader *reader, Elf64_Shdr *table)
{
    struct code_object *object = reader->object;
    Elf64_Shdr strings;
    if (!find_section(reader, SHT_DYNSYM, table))
        return corrupt(reader, "no dynamic symbols");
    if (table->sh_entsize != sizeof(Elf64_Sym) || !read_section(reader, table->sh_link, &strings))
        return corrupt(reader, "the dynamic symbols are malformed");
    size_t count = table->sh_size / sizeof(Elf64_Sym);
    if (count > symbol_limit)
        return corrupt(reader, "too many symbols");
    object->kernels = calloc(count + 1, sizeof *object->kernels);
    object->variables = calloc(count + 1, sizeof *object->variables);
    if (!object->kernels || !object->variables)
        return out_of_memory(reader);
    for (size_t i = 0; i < count; i++) {
        Elf64_Sym row;
        if (!read_row(reader, table->sh_offset, i, &row, sizeof row))
            return corrupt(reader, "the dynamic symbols end behind the file");
        if (ELF64_ST_TYPE(row.st_info) != STT_OBJECT || row.st_shndx == SHN_UNDEF)
            continue;
        const char *name = read_string(reader, &strings, row.st_name);
        if (!name)
            return corrupt(reader, "a symbol's name lies outside its string table");
        if (!add_symbol(reader, &row, name))
            return false;
    }
    return true;
}

static bool read_relocation(struct reader *reader, const Elf64_Shdr *symbols, const Elf64_Rela *row)
{
    struct code_object *object = reader->object;
    struct code_relocation relocation = {.address = row->r_offset,
                                         .value = (uint64_t)row->r_addend};
    switch (ELF64_R_TYPE(row->r_info)) {
    case RELOCATION_NONE:
        return true;
    case RELOCATION_RELATIVE64:
    case RELOCATION_ABS64:
        relocation.width = RELOCATE_64;
        break;
    case RELOCATION_ABS32_LO:
        relocation.width = RELOCATE_32_LOW;
        break;
    case RELOCATION_ABS32_HI:
        relocation.width = RELOCATE_32_HIGH;
        break;
    default:
        return corrupt(reader, "a relocation of a kind that no loader serves");
    }
    if (ELF64_R_TYPE(row->r_info) != RELOCATION_RELATIVE64) {
        Elf64_Sym symbol;
        uint64_t index = ELF64_R_SYM(row->r_info);
        if (index >= symbols->sh_size / sizeof symbol ||
            !read_row(reader, symbols->sh_offset, index, &symbol, sizeof symbol))
            return corrupt(reader, "a relocation names no symbol");
        if (symbol.st_shndx == SHN_UNDEF)
            return corrupt(reader, "a relocation names an undefined symbol");
        relocation.value += symbol.st_value;
    }
    if (!find_segment(object, relocation.address, relocation.width == RELOCATE_64 ? 8 : 4))
        return corrupt(reader, "a relocation lies outside the segments");
    object->relocations[object->relocation_count++] = relocation;
    return true;
}

static bool read_relocations(struct reader *reader, const Elf64_Shdr *symbols)
{
    struct code_object *object = reader->object;
    Elf64_Shdr table;
    if (!find_section(reader, SHT_RELA, &table))
        return true;
    if (table.sh_entsize != sizeof(Elf64_Rela))
        return corrupt(reader, "the relocations are malformed");
    size_t count = table.sh_size / sizeof(Elf64_Rela);
    if (count > symbol_limit)
        return corrupt(reader, "too many relocations");
    object->relocations = calloc(count + 1, sizeof *object->relocations);
    if (!object->relocations)
        return out_of_memory(reader);
    for (size_t i = 0; i < count; i++) {
        Elf64_Rela row;
        if (!read_row(reader, table.sh_offset, i, &row, sizeof row))
            return corrupt(reader, "the relocations end behind the file");
        if (!read_relocation(reader, symbols, &row))
            return false;
    }
    return true;
}

size_t code_object_measure(const void *image)
{
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shoff > image_limit)
        return 0;
    return (size_t)header.e_shoff + (size_t)header.e_shnum * sizeof(Elf64_Shdr);
}

dsajit_status code_object_parse(const void *bytes, size_t size, struct code_object *object,
                                dsajit_error *error)
{
    *object = (struct code_object){.bytes = bytes, .size = size};
    struct reader reader = {.object = object, .error = error};
    static const char bundle[] = "__CLANG_OFFLOAD_BUNDLE__", compressed[] = "CCOB";
    if ((size >= strlen(bundle) && !memcmp(bytes, bundle, strlen(bundle))) ||
        (size >= strlen(compressed) && !memcmp(bytes, compressed, strlen(compressed))))
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED,
                         "code object: an offload bundle; pass the gfx950 code object itself");
    if (size < sizeof reader.header || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return error_set(error, DSAJIT_ERROR_CORRUPT, "code object: not an ELF file");
    memcpy(&reader.header, bytes, sizeof reader.header);
    dsajit_status status = check_header(&reader);
    if (status)
        return status;
    Elf64_Shdr symbols;
    if (!read_segments(&reader) || !read_text(&reader) || !read_symbols(&reader, &symbols) ||
        !read_relocations(&reader, &symbols)) {
        code_object_free(object);
        return reader.status;
    }
    return DSAJIT_OK;
}

static void free_symbols(struct code_symbol *symbols, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(symbols[i].name);
    free(symbols);
}

void code_object_free(struct code_object *object)
{
    free_symbols(object->kernels, object->kernel_count);
    free_symbols(object->variables, object->variable_count);
    free(object->relocations);
    *object = (struct code_object){0};
}
