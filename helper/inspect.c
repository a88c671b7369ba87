/* A code object's instructions, through comgr, as the text that compiler.h describes. */
#include "base/little_endian.h"
#include "requests.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of a code object's .text, and the text made of them. */
struct disassembly {
    const uint8_t *text;
    uint64_t size;
    struct bytes line; /* the instruction that comgr printed last */
};

/* ---- ELF ---- */

/* An array of `count` records of `record` bytes at `offset` lies within `size`. */
static bool lies_within(uint64_t offset, uint64_t count, uint64_t record, uint64_t size)
{
    return offset <= size && count <= (size - offset) / record;
}

/* Finds .text; the code object is untrusted. */
static bool find_text(const uint8_t *code, size_t size, struct disassembly *disassembly)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    if (size < sizeof header)
        return false;
    memcpy(&header, code, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_shentsize != sizeof section ||
        header.e_shstrndx >= header.e_shnum ||
        !lies_within(header.e_shoff, header.e_shnum, sizeof section, size))
        return false;
    const uint8_t *sections = code + header.e_shoff;
    memcpy(&names, sections + header.e_shstrndx * sizeof section, sizeof names);
    if (!lies_within(names.sh_offset, names.sh_size, 1, size))
        return false;

    static const char wanted[] = ".text";
    for (size_t i = 0; i < header.e_shnum; i++) {
        memcpy(&section, sections + i * sizeof section, sizeof section);
        if (lies_within(section.sh_name, 1, sizeof wanted, names.sh_size) &&
            !memcmp(code + names.sh_offset + section.sh_name, wanted, sizeof wanted)) {
            disassembly->text = code + section.sh_offset;
            disassembly->size = section.sh_size;
            return section.sh_type == SHT_PROGBITS &&
                   lies_within(section.sh_offset, section.sh_size, 1, size);
        }
    }
    return false;
}

/* ---- Disassembly ---- */

/* comgr's addresses are offsets from .text's first byte. */
static uint64_t read_memory(uint64_t from, char *to, uint64_t size, void *user)
{
    const struct disassembly *disassembly = user;
    if (from >= disassembly->size)
        return 0;
    uint64_t left = disassembly->size - from;
    uint64_t count = size < left ? size : left;
    memcpy(to, disassembly->text + from, count);
    return count;
}

/* Blanks are single and between words. */
static void print_instruction(const char *text, void *user)
{
    static const char blanks[] = " \t\n\r";
    struct disassembly *disassembly = user;
    bool first = true;
    while (*(text += strspn(text, blanks))) {
        size_t size = strcspn(text, blanks);
        if (!first)
            bytes_append_text(&disassembly->line, " ");
        bytes_append(&disassembly->line, text, size);
        first = false;
        text += size;
    }
}

/* Branch targets are in the instruction's text already. */
static void print_address(uint64_t address, void *user)
{
    (void)address;
    (void)user;
}

static void list_instructions(const struct rocm *rocm, amd_comgr_disassembly_info_t handle,
                              struct disassembly *disassembly, struct bytes *listing)
{
    uint64_t offset = 0;
    while (disassembly->size - offset >= 4 && !listing->failed) {
        uint64_t size = 0;
        disassembly->line.size = 0;
        amd_comgr_status_t result =
            rocm->amd_comgr_disassemble_instruction(handle, offset, disassembly, &size);
        if (result || size == 0 || size > disassembly->size - offset ||
            disassembly->line.size == 0) {
            disassembly->line.size = 0;
            size = 4;
            bytes_append_format(&disassembly->line, ".long 0x%08x",
                                load_u32(disassembly->text + offset));
        }
        listing->failed |= disassembly->line.failed;
        bytes_append_format(listing, "%llx %llu %s\n", (unsigned long long)offset,
                            (unsigned long long)size, bytes_text(&disassembly->line));
        offset += size;
    }
}

static enum reply_status disassemble(const struct rocm *rocm, const char *isa_name,
                                     struct disassembly *disassembly, struct bytes *reply,
                                     struct failure *failure)
{
    amd_comgr_disassembly_info_t handle;
    amd_comgr_status_t result = rocm->amd_comgr_create_disassembly_info(
        isa_name, read_memory, print_instruction, print_address, &handle);
    if (result)
        return comgr_failed(rocm, failure, REPLY_FAILED, "create_disassembly_info", result);
    struct bytes listing = {0};
    list_instructions(rocm, handle, disassembly, &listing);
    message_add(reply, TAG_LISTING, listing.data, listing.size);
    enum reply_status status = REPLY_OK;
    if (bytes_failed(&listing))
        status = fail(failure, REPLY_OUT_OF_MEMORY, "no memory for a listing");
    bytes_free(&listing);
    bytes_free(&disassembly->line);
    rocm->amd_comgr_destroy_disassembly_info(handle);
    return status;
}

static enum reply_status read_isa_name(const struct rocm *rocm, const struct message_field *code,
                                       char isa_name[256], struct failure *failure)
{
    amd_comgr_data_t data;
    size_t size = 0;
    amd_comgr_status_t result = rocm->amd_comgr_create_data(AMD_COMGR_DATA_KIND_EXECUTABLE, &data);
    if (result)
        return comgr_failed(rocm, failure, REPLY_FAILED, "create_data", result);
    if (!(result = rocm->amd_comgr_set_data(data, code->size, (const char *)code->data)) &&
        !(result = rocm->amd_comgr_get_data_isa_name(data, &size, NULL)) && size <= 256)
        result = rocm->amd_comgr_get_data_isa_name(data, &size, isa_name);
    rocm->amd_comgr_release_data(data);
    if (result)
        return comgr_failed(rocm, failure, REPLY_BAD_CODE_OBJECT, "reading the target", result);
    if (size > 256)
        return fail(failure, REPLY_BAD_CODE_OBJECT, "the target's name has %zu bytes", size);
    return REPLY_OK;
}

enum reply_status serve_inspect(struct rocm *rocm, const struct bytes *request, struct bytes *reply,
                                struct failure *failure)
{
    struct message_field code;
    struct disassembly disassembly = {0};
    char isa_name[256];
    enum reply_status status = rocm_load_comgr(rocm, failure);
    if (status)
        return status;
    if (!message_find(request, TAG_CODE, &code))
        return fail(failure, REPLY_BAD_REQUEST, "an inspection needs a code object");
    if (!find_text(code.data, code.size, &disassembly))
        return fail(failure, REPLY_BAD_CODE_OBJECT, "not an ELF code object with a .text section");
    if (!(status = read_isa_name(rocm, &code, isa_name, failure)) &&
        !(status = describe_kernels(rocm, code.data, code.size, reply, failure)))
        status = disassemble(rocm, isa_name, &disassembly, reply, failure);
    return status;
}
