#include "emulator/opcode.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const struct opcode_table *const opcode_tables[] = {
    &opcodes_scalar_unary,   &opcodes_scalar_binary,
    &opcodes_scalar_compare, &opcodes_scalar_special,
    &opcodes_control,        &opcodes_scalar_memory,
    &opcodes_vector_integer, &opcodes_vector_integer16,
    &opcodes_vector_bytes,   &opcodes_vector_float,
    &opcodes_vector_float16, &opcodes_vector_float64,
    &opcodes_vector_packed,  &opcodes_transcendental,
    &opcodes_division,       &opcodes_vector_compare,
    &opcodes_vector_convert, &opcodes_vector_convert_scaled,
    &opcodes_cross_lane,     &opcodes_matrix,
    &opcodes_dot_product,    &opcodes_lds,
    &opcodes_lds_atomic,     &opcodes_lds_exchange,
    &opcodes_vector_memory,  &opcodes_vector_atomic,
    &opcodes_buffer_memory,  &opcodes_register_index,
};
const size_t opcode_table_count = sizeof opcode_tables / sizeof opcode_tables[0];

/* Open addressing over all rows; built once, at a load of at most a half. */
enum { INDEX_SIZE = 8192 };

static const struct opcode *row_index[INDEX_SIZE];
static pthread_once_t index_once = PTHREAD_ONCE_INIT;

static uint32_t hash(const char *text, size_t length)
{
    uint32_t value = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; ++i)
        value = (value ^ (uint8_t)text[i]) * 16777619u;
    return value;
}

static bool matches(const struct opcode *row, const char *mnemonic, size_t length)
{
    return strncmp(row->mnemonic, mnemonic, length) == 0 && row->mnemonic[length] == '\0';
}

static void build_index(void)
{
    size_t used = 0;
    for (size_t t = 0; t < opcode_table_count; ++t) {
        for (size_t r = 0; r < opcode_tables[t]->count; ++r) {
            const struct opcode *row = &opcode_tables[t]->rows[r];
            size_t slot = hash(row->mnemonic, strlen(row->mnemonic)) % INDEX_SIZE;
            while (row_index[slot])
                slot = (slot + 1) % INDEX_SIZE;
            row_index[slot] = row;
            if (++used > INDEX_SIZE / 2)
                abort(); /* the tables outgrew the index: a mistake in this file */
        }
    }
}

static const struct opcode *find_exactly(const char *mnemonic, size_t length)
{
    size_t slot = hash(mnemonic, length) % INDEX_SIZE;
    for (; row_index[slot]; slot = (slot + 1) % INDEX_SIZE) {
        if (matches(row_index[slot], mnemonic, length))
            return row_index[slot];
    }
    return NULL;
}

const struct opcode *opcode_find(const char *mnemonic, size_t length)
{
    static const char *const suffixes[] = {"_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"};
    pthread_once(&index_once, build_index);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; ++i) {
        size_t suffix = strlen(suffixes[i]);
        if (length > suffix && memcmp(mnemonic + length - suffix, suffixes[i], suffix) == 0) {
            length -= suffix;
            break;
        }
    }
    return find_exactly(mnemonic, length);
}

static const struct {
    const char *name;
    uint8_t type, width;
    bool label;
} type_names[] = {
    {"b32", TYPE_B32, 0, false},     {"b64", TYPE_B64, 2, false},
    {"b96", TYPE_B32, 3, false},     {"b128", TYPE_B32, 4, false},
    {"b256", TYPE_B32, 8, false},    {"b512", TYPE_B32, 16, false},
    {"i16", TYPE_I16, 1, false},     {"i32", TYPE_I32, 1, false},
    {"i64", TYPE_I64, 2, false},     {"f16", TYPE_F16, 1, false},
    {"bf16", TYPE_BF16, 1, false},   {"f32", TYPE_F32, 1, false},
    {"f64", TYPE_F64, 2, false},     {"pi16", TYPE_PK_I16, 1, false},
    {"pf16", TYPE_PK_F16, 1, false}, {"pbf16", TYPE_PK_BF16, 1, false},
    {"pf32", TYPE_PK_F32, 2, false}, {"m", TYPE_MATRIX, 0, false},
    {"lbl", TYPE_B32, 0, true},
};

static bool parse_token(const char *text, size_t length, struct signature_token *token)
{
    *token = (struct signature_token){0};
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        token->optional = true;
        ++text;
        length -= 2;
    }
    if (length < 3 || text[1] != ':')
        return false;
    switch (text[0]) {
    case 's':
        token->access = ACCESS_READ;
        break;
    case 'd':
        token->access = ACCESS_WRITE;
        break;
    case 'x':
        token->access = ACCESS_READ | ACCESS_WRITE;
        break;
    default:
        return false;
    }
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; ++i) {
        if (strlen(type_names[i].name) == length - 2 &&
            memcmp(text + 2, type_names[i].name, length - 2) == 0) {
            token->type = type_names[i].type;
            token->width = type_names[i].width;
            token->label = type_names[i].label;
            return true;
        }
    }
    return false;
}

bool opcode_parse_signature(const struct opcode *opcode, struct signature *signature)
{
    *signature = (struct signature){0};
    for (const char *at = opcode->operands; *at;) {
        size_t length = strcspn(at, " ");
        if (signature->count == OPERANDS_MAX ||
            !parse_token(at, length, &signature->tokens[signature->count]))
            return false;
        signature->required += !signature->tokens[signature->count].optional;
        ++signature->count;
        at += length;
        if (*at == ' ')
            ++at;
    }
    return true;
}
