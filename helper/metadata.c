/* A code object's metadata, through comgr, as the text that compiler.h describes. */
#include "requests.h"

#include <string.h>

static const struct {
    const char *shown;
    const char *key; /* in the AMDGPU metadata */
    bool required;   /* others are left out of the metadata when they are 0 */
} kernel_fields[] = {
    {"vgprs", ".vgpr_count", true},
    {"agprs", ".agpr_count", false},
    {"sgprs", ".sgpr_count", true},
    {"lds", ".group_segment_fixed_size", true},
    {"scratch", ".private_segment_fixed_size", true},
    {"vgpr_spills", ".vgpr_spill_count", false},
    {"sgpr_spills", ".sgpr_spill_count", false},
    {"kernarg", ".kernarg_segment_size", true},
    {"kernarg_align", ".kernarg_segment_align", true},
    {"workgroup", ".max_flat_workgroup_size", true},
};

static const char *const argument_fields[] = {".offset", ".size", ".value_kind"};

enum { VALUE_SIZE = 4096 }; /* a mangled name can be long */

/* The value of a key as one word. False when it is absent, no string, too long, or would break the
   text's lines. */
static bool read_word(const struct rocm *rocm, amd_comgr_metadata_node_t map, const char *key,
                      char word[VALUE_SIZE])
{
    amd_comgr_metadata_node_t node;
    size_t size = 0;
    if (rocm->amd_comgr_metadata_lookup(map, key, &node))
        return false;
    bool good = !rocm->amd_comgr_get_metadata_string(node, &size, NULL) && size > 1 &&
                size <= VALUE_SIZE && !rocm->amd_comgr_get_metadata_string(node, &size, word) &&
                !word[size - 1];
    for (size_t i = 0; good && i + 1 < size; i++)
        good = (unsigned char)word[i] > ' ';
    rocm->amd_comgr_destroy_metadata(node);
    return good;
}

static enum reply_status lacks(struct failure *failure, const char *key)
{
    return fail(failure, REPLY_BAD_CODE_OBJECT, "a kernel's metadata lack a usable %s", key);
}

static enum reply_status describe_argument(const struct rocm *rocm,
                                           amd_comgr_metadata_node_t argument, struct bytes *text,
                                           struct failure *failure)
{
    char word[VALUE_SIZE];
    bytes_append_text(text, "argument");
    for (size_t i = 0; i < sizeof argument_fields / sizeof *argument_fields; i++) {
        if (!read_word(rocm, argument, argument_fields[i], word))
            return lacks(failure, argument_fields[i]);
        bytes_append_format(text, " %s", word);
    }
    bytes_append_text(text, "\n");
    return REPLY_OK;
}

typedef enum reply_status (*describe_function)(const struct rocm *rocm,
                                               amd_comgr_metadata_node_t item, struct bytes *text,
                                               struct failure *failure);

/* Each item of the list at `key`; an absent list is an empty one. */
static enum reply_status describe_list(const struct rocm *rocm, amd_comgr_metadata_node_t map,
                                       const char *key, describe_function describe,
                                       struct bytes *text, struct failure *failure)
{
    amd_comgr_metadata_node_t list;
    if (rocm->amd_comgr_metadata_lookup(map, key, &list))
        return REPLY_OK;
    size_t count = 0;
    enum reply_status status = REPLY_OK;
    amd_comgr_status_t result = rocm->amd_comgr_get_metadata_list_size(list, &count);
    for (size_t i = 0; !result && !status && i < count; i++) {
        amd_comgr_metadata_node_t item;
        result = rocm->amd_comgr_index_list_metadata(list, i, &item);
        if (!result) {
            status = describe(rocm, item, text, failure);
            rocm->amd_comgr_destroy_metadata(item);
        }
    }
    rocm->amd_comgr_destroy_metadata(list);
    return result ? comgr_failed(rocm, failure, REPLY_BAD_CODE_OBJECT, key, result) : status;
}

static enum reply_status describe_kernel(const struct rocm *rocm, amd_comgr_metadata_node_t kernel,
                                         struct bytes *text, struct failure *failure)
{
    char word[VALUE_SIZE];
    if (!read_word(rocm, kernel, ".name", word))
        return lacks(failure, ".name");
    bytes_append_format(text, "kernel %s", word);
    for (size_t i = 0; i < sizeof kernel_fields / sizeof *kernel_fields; i++) {
        bool there = read_word(rocm, kernel, kernel_fields[i].key, word);
        if (!there && kernel_fields[i].required)
            return lacks(failure, kernel_fields[i].key);
        bytes_append_format(text, " %s=%s", kernel_fields[i].shown, there ? word : "0");
    }
    bytes_append_text(text, "\n");
    return describe_list(rocm, kernel, ".args", describe_argument, text, failure);
}

enum reply_status describe_kernels(const struct rocm *rocm, const void *code, size_t size,
                                   struct bytes *reply, struct failure *failure)
{
    amd_comgr_data_t data;
    amd_comgr_metadata_node_t metadata;
    amd_comgr_status_t result = rocm->amd_comgr_create_data(AMD_COMGR_DATA_KIND_EXECUTABLE, &data);
    if (result)
        return comgr_failed(rocm, failure, REPLY_FAILED, "create_data", result);
    enum reply_status status;
    struct bytes text = {0};
    if ((result = rocm->amd_comgr_set_data(data, size, code)) ||
        (result = rocm->amd_comgr_get_data_metadata(data, &metadata))) {
        status = comgr_failed(rocm, failure, REPLY_BAD_CODE_OBJECT,
                              "reading the code object's metadata", result);
    } else {
        status = describe_list(rocm, metadata, "amdhsa.kernels", describe_kernel, &text, failure);
        rocm->amd_comgr_destroy_metadata(metadata);
    }
    if (!status)
        message_add(reply, TAG_METADATA, text.data, text.size);
    if (!status && bytes_failed(&text))
        status = fail(failure, REPLY_OUT_OF_MEMORY, "no memory for a code object's metadata");
    bytes_free(&text);
    rocm->amd_comgr_release_data(data);
    return status;
}
