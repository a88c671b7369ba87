/* What the lines of a disassembly become. */
#include "emulator/dispatch.h"
#include "emulator/opcode.h"
#include "emulator/wave.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void decode(struct program *program, const char *listing)
{
    dsajit_error error;
    *program = (struct program){0};
    if (program_decode(program, listing, &error) != DSAJIT_OK)
        fail_msg("%s", error.message);
}

static void decode_line(struct program *program, const char *text)
{
    struct bytes listing = {0};
    bytes_append_format(&listing, "0 8 %s\n", text);
    decode(program, bytes_text(&listing));
    bytes_free(&listing);
    assert_int_equal(program->instruction_count, 1);
}

/* An operand in short: kind and index, width if not 1, its signs, "!" if written, "?" if both. */
static void describe(const struct operand *operand, struct bytes *text)
{
    static const char *const special[] = {[OPERAND_NONE] = "none",
                                          [OPERAND_SCC] = "scc",
                                          [OPERAND_VCCZ] = "vccz",
                                          [OPERAND_EXECZ] = "execz"};
    if (text->size)
        bytes_append_text(text, " ");
    bytes_append_text(text, operand->negate ? "-" : "");
    bytes_append_text(text, operand->absolute ? "abs " : "");
    bytes_append_text(text, operand->sign_extend ? "sext " : "");
    switch (operand->kind) {
    case OPERAND_SCALAR:
        bytes_append_format(text, "s%u", operand->index);
        break;
    case OPERAND_VECTOR:
        bytes_append_format(text, "v%u", operand->index);
        break;
    case OPERAND_CONSTANT:
        bytes_append_format(text, "0x%" PRIx64, operand->value);
        break;
    case OPERAND_APERTURE:
        bytes_append_format(text, "aperture 0x%" PRIx64, operand->value);
        break;
    case OPERAND_LABEL:
        bytes_append_format(text, "#%" PRIu64, operand->value);
        break;
    default:
        bytes_append_text(text, special[operand->kind]);
    }
    if (operand->width > 1)
        bytes_append_format(text, "*%u", operand->width);
    if (operand->access & ACCESS_WRITE)
        bytes_append_text(text, operand->access & ACCESS_READ ? "?" : "!");
}

static void check_operands(const char *text, const char *mnemonic, const char *expected)
{
    struct program program;
    struct bytes described = {0};
    decode_line(&program, text);
    const struct instruction *instruction = &program.instructions[0];
    if (instruction->defect)
        fail_msg("%s: %s", text, instruction->defect);
    for (unsigned i = 0; i < instruction->operand_count; ++i)
        describe(&instruction->operands[i], &described);
    assert_string_equal(instruction->opcode->mnemonic, mnemonic);
    assert_string_equal(bytes_text(&described), expected);
    bytes_free(&described);
    program_free_instructions(&program);
}

static void registers_by_name_and_range(void **state)
{
    (void)state;
    check_operands("v_mov_b32_e32 v255, v0", "v_mov_b32", "v255! v0");
    check_operands("v_mov_b32_e32 v1, s101", "v_mov_b32", "v1! s101");
    check_operands("v_add_f64 v[0:1], s[4:5], v[254:255]", "v_add_f64", "v0*2! s4*2 v254*2");
    check_operands("v_accvgpr_read_b32 v3, a7", "v_accvgpr_read_b32", "v3! v263");
    check_operands("s_mov_b64 exec, vcc", "s_mov_b64", "s126*2! s106*2");
    check_operands("s_mov_b32 m0, vcc_hi", "s_mov_b32", "s124! s107");
    check_operands("s_mov_b32 exec_lo, ttmp15", "s_mov_b32", "s126! s123");
    check_operands("s_mov_b64 flat_scratch, xnack_mask", "s_mov_b64", "s102*2! s104*2");
    check_operands("s_load_dwordx16 s[8:23], s[4:5], 0x10", "s_load_dwordx16", "s8*16! s4*2 0x10");
    check_operands("global_load_dword v0, v[2:3], off", "global_load_dword", "v0! v2*2 none");
    check_operands("v_fmac_f32_e32 v3, v2, v4", "v_fmac_f32", "v3? v2 v4");
}

static void special_sources(void **state)
{
    (void)state;
    check_operands("s_mov_b32 s0, src_scc", "s_mov_b32", "s0! scc");
    check_operands("s_mov_b32 s0, src_vccz", "s_mov_b32", "s0! vccz");
    check_operands("s_mov_b32 s0, src_execz", "s_mov_b32", "s0! execz");
    check_operands("s_mov_b64 s[2:3], src_shared_base", "s_mov_b64",
                   "s2*2! aperture 0x1000000000000*2");
    check_operands("s_mov_b32 s2, src_private_base", "s_mov_b32", "s2! aperture 0x20000");
}

/* The bits are from IEEE 754 and from the rules for inline constants and literals. */
static void constants_take_the_operands_type(void **state)
{
    (void)state;
    check_operands("v_add_f32_e32 v0, 1.0, v0", "v_add_f32", "v0! 0x3f800000 v0");
    check_operands("v_add_f32_e32 v0, -4.0, v0", "v_add_f32", "v0! 0xc0800000 v0");
    check_operands("v_add_f32_e32 v0, 1, v0", "v_add_f32", "v0! 0x1 v0");
    check_operands("v_add_f32_e32 v0, -16, v0", "v_add_f32", "v0! 0xfffffff0 v0");
    check_operands("v_add_f32_e32 v0, 0x42c80000, v0", "v_add_f32", "v0! 0x42c80000 v0");
    check_operands("v_mul_f32_e32 v0, 0.15915494, v0", "v_mul_f32", "v0! 0x3e22f983 v0");
    check_operands("v_add_f16_e32 v0, 0.5, v0", "v_add_f16", "v0! 0x3800 v0");
    check_operands("v_add_f16_e32 v0, -1, v0", "v_add_f16", "v0! 0xffff v0");
    check_operands("v_add_f16_e32 v0, 0x5640, v0", "v_add_f16", "v0! 0x5640 v0");
    check_operands("v_mul_f64 v[0:1], v[0:1], 2.0", "v_mul_f64", "v0*2! v0*2 0x4000000000000000*2");
    check_operands("v_mul_f64 v[0:1], v[0:1], -1", "v_mul_f64", "v0*2! v0*2 0xffffffffffffffff*2");
    check_operands("v_ceil_f64_e32 v[0:1], 0x40040000", "v_ceil_f64", "v0*2! 0x4004000000000000*2");
    check_operands("v_mul_f64 v[0:1], v[0:1], 0.15915494309189532", "v_mul_f64",
                   "v0*2! v0*2 0x3fc45f306dc9c882*2");
    check_operands("s_mov_b64 s[0:1], -1", "s_mov_b64", "s0*2! 0xffffffffffffffff*2");
    check_operands("s_mov_b64 s[0:1], 0x92345678", "s_mov_b64", "s0*2! 0x92345678*2");
    check_operands("s_ashr_i64 s[0:1], 0x92345678, s3", "s_ashr_i64",
                   "s0*2! 0xffffffff92345678*2 s3");
    check_operands("s_add_u32 s0, s1, lit(0x5)", "s_add_u32", "s0! s1 0x5");
    check_operands("v_pk_add_f16 v0, v1, 1.0 op_sel_hi:[1,0]", "v_pk_add_f16", "v0! v1 0x3c00");
    check_operands("v_pk_add_u16 v0, v1, -1", "v_pk_add_u16", "v0! v1 0xffffffff");
    check_operands("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], 1.0", "v_mfma_f32_16x16x16_f16",
                   "v256*4! v0*2 v2*2 0x3f800000");
}

static void signs_around_operands(void **state)
{
    (void)state;
    check_operands("v_add_f32_e64 v0, -v1, |v2|", "v_add_f32", "v0! -v1 abs v2");
    check_operands("v_fma_f32 v0, -|v1|, s2, v3", "v_fma_f32", "v0! -abs v1 s2 v3");
    check_operands("v_add_f32_e64 v0, |s7|, neg(1)", "v_add_f32", "v0! abs s7 -0x1");
    check_operands("v_add_f32_e64 v0, -|2.0|, v1", "v_add_f32", "v0! -abs 0x40000000 v1");
    check_operands("v_add_u32_sdwa v0, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD "
                   "src0_sel:BYTE_1 src1_sel:WORD_1",
                   "v_add_u32", "v0! sext v1 v2");
}

static void immediates(void **state)
{
    (void)state;
    check_operands("s_movk_i32 s0, 0xfffe", "s_movk_i32", "s0! #65534");
    check_operands("s_nop 5", "s_nop", "#5");
    /* MODE is register 1; 4 bits from bit 2 */
    check_operands("s_getreg_b32 s0, hwreg(HW_REG_MODE, 2, 4)", "s_getreg_b32", "s0! #6273");
    check_operands("s_getreg_b32 s0, hwreg(HW_REG_XCC_ID)", "s_getreg_b32", "s0! #63508");
    check_operands("s_setreg_imm32_b32 hwreg(62, 31, 32), 5", "s_setreg_imm32_b32", "#65534 #5");
    check_operands("s_sendmsg sendmsg(MSG_INTERRUPT)", "s_sendmsg", "#1");
}

static void optional_operands_in_front_and_behind(void **state)
{
    (void)state;
    check_operands("s_endpgm", "s_endpgm", "");
    check_operands("s_endpgm 5", "s_endpgm", "#5");
    check_operands("global_atomic_add v1, v[2:3], v4, off sc0", "global_atomic_add",
                   "v1! v2*2 v4 none");
    check_operands("global_atomic_add v[2:3], v4, off", "global_atomic_add", "v2*2 v4 none");
}

static struct instruction decode_one(const char *text)
{
    struct program program;
    decode_line(&program, text);
    struct instruction instruction = program.instructions[0];
    if (instruction.defect)
        fail_msg("%s: %s", text, instruction.defect);
    program_free_instructions(&program);
    instruction.text = NULL;
    return instruction;
}

static void dpp_modifiers(void **state)
{
    (void)state;
    struct instruction i = decode_one("v_add_f32_dpp v0, v1, v2 quad_perm:[3,2,1,0] "
                                      "row_mask:0x5 bank_mask:0xc bound_ctrl:1");
    assert_int_equal(i.dpp, DPP_QUAD_PERM);
    assert_int_equal(i.dpp_value, 3 | 2 << 2 | 1 << 4);
    assert_int_equal(i.row_mask, 5);
    assert_int_equal(i.bank_mask, 12);
    assert_true(i.bound_ctrl);
    assert_true(i.operands[1].modified);
    assert_false(i.operands[2].modified);

    i = decode_one("v_mov_b32_dpp v0, v1 row_shl:3 row_mask:0xf bank_mask:0xf");
    assert_int_equal(i.dpp, DPP_ROW_SHL);
    assert_int_equal(i.dpp_value, 3);
    assert_false(i.bound_ctrl);
    i = decode_one("v_mov_b32_dpp v0, v1 row_bcast:31 row_mask:0xc bank_mask:0xf");
    assert_int_equal(i.dpp, DPP_ROW_BCAST_31);
    i = decode_one("v_mov_b32_dpp v0, v1 row_newbcast:7 row_mask:0xf bank_mask:0xf");
    assert_int_equal(i.dpp, DPP_ROW_NEWBCAST);
    assert_int_equal(i.dpp_value, 7);
    i = decode_one("v_mov_b32_dpp v0, v1 row_half_mirror row_mask:0xf bank_mask:0xf");
    assert_int_equal(i.dpp, DPP_ROW_HALF_MIRROR);
}

static void sdwa_modifiers(void **state)
{
    (void)state;
    struct instruction i = decode_one("v_add_f16_sdwa v0, v1, v2 dst_sel:BYTE_2 "
                                      "dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD");
    assert_true(i.sdwa);
    assert_int_equal(i.dst_sel, SDWA_BYTE_2);
    assert_int_equal(i.dst_unused, SDWA_PRESERVE);
    assert_int_equal(i.src0_sel, SDWA_WORD_1);
    assert_int_equal(i.src1_sel, SDWA_DWORD);
}

static void selections_and_output_modifiers(void **state)
{
    (void)state;
    struct instruction i = decode_one("v_pk_fma_f16 v0, v1, v2, v3 op_sel:[1,0,1] neg_lo:[0,1,0]");
    assert_int_equal(i.op_sel, 5);
    assert_int_equal(i.op_sel_hi, 7);
    assert_int_equal(i.neg_lo, 2);
    i = decode_one("v_pk_fma_f16 v0, v1, v2, v3 op_sel_hi:[0,0,1] neg_hi:[1,0,0]");
    assert_int_equal(i.op_sel_hi, 4);
    assert_int_equal(i.neg_hi, 1);
    i = decode_one("v_fma_f16 v0, v1, v2, v3 op_sel:[0,1,0,1]");
    assert_int_equal(i.op_sel, 2 | 8);
    assert_int_equal(i.op_sel_hi, 0);
    assert_false(i.operands[1].modified);
    assert_true(i.operands[2].modified);
    assert_int_equal(decode_one("v_add_f32_e64 v0, v1, v2 clamp mul:2").omod, 1);
    assert_int_equal(decode_one("v_add_f32_e64 v0, v1, v2 mul:4").omod, 2);
    assert_int_equal(decode_one("v_add_f32_e64 v0, v1, v2 div:2").omod, 3);
    assert_true(decode_one("v_add_f32_e64 v0, v1, v2 clamp").clamp);
    assert_int_equal(decode_one("v_bitop3_b32 v0, v1, v2, v3 bitop3:0xe4").bitop3, 0xe4);
    i = decode_one("v_mfma_f32_16x16x4_4b_f16 v[0:15], v[0:1], v[2:3], v[0:15] "
                   "cbsz:3 abid:2 blgp:5");
    assert_int_equal(i.cbsz, 3);
    assert_int_equal(i.abid, 2);
    assert_int_equal(i.blgp, 5);
    i = decode_one("v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:19], v[0:3], v5, v7 "
                   "op_sel:[1,0,0] op_sel_hi:[0,1,0] blgp:4");
    assert_int_equal(i.op_sel, 1);
    assert_int_equal(i.op_sel_hi, 2);
}

static void memory_modifiers(void **state)
{
    (void)state;
    struct instruction i =
        decode_one("buffer_load_dword v1, v[2:3], s[4:7], s8 idxen offen offset:4095 sc0 nt sc1");
    assert_true(i.idxen && i.offen && i.sc0);
    assert_int_equal(i.offset0, 4095);
    i = decode_one("global_load_dword v0, v[2:3], off offset:-4096");
    assert_int_equal(i.offset0, -4096);
    i = decode_one("ds_read2_b32 v[0:1], v2 offset0:3 offset1:255");
    assert_int_equal(i.offset0, 3);
    assert_int_equal(i.offset1, 255);
    i = decode_one("buffer_load_dwordx4 v1, s[4:7], 0 offen offset:16 lds");
    assert_true(i.lds);
}

/* The offsets are what assembles to the text: quad mode has bit 15 set, mask mode is and | or << 5
   | xor << 10. */
static void names_of_swizzles(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int offset;
    } cases[] = {
        {"QUAD_PERM,0,1,2,3", 0x80e4},
        {"QUAD_PERM,1,1,1,1", 0x8055},
        {"BITMASK_PERM,\"0001p\"", 0x41},
        {"BITMASK_PERM,\"ppppp\"", 0x1f},
        {"BITMASK_PERM,\"0000i\"", 0x401},
        {"SWAP,16", 0x401f},
        {"REVERSE,4", 0xc1f},
        {"BROADCAST,8,3", 0x78},
        {"ROTATE,0,1", 0xc020},
        {"ROTATE,1,31", 0xc7e0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        char text[96];
        snprintf(text, sizeof text, "ds_swizzle_b32 v0, v1 offset:swizzle(%s)", cases[c].text);
        assert_int_equal(decode_one(text).offset0, cases[c].offset);
    }
}

static void wait_counts(void **state)
{
    (void)state;
    struct instruction i = decode_one("s_waitcnt vmcnt(3)");
    assert_int_equal(i.waitcnt_vm, 3);
    assert_int_equal(i.waitcnt_lgkm, 0xff);
    i = decode_one("s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)");
    assert_int_equal(i.waitcnt_vm, 63);
    assert_int_equal(i.waitcnt_lgkm, 15);
    i = decode_one("s_waitcnt 0xc17f"); /* vmcnt 63, expcnt 7, lgkmcnt 1 */
    assert_int_equal(i.waitcnt_vm, 63);
    assert_int_equal(i.waitcnt_lgkm, 1);
}

static void branches_find_their_targets(void **state)
{
    (void)state;
    struct program program;
    decode(&program, "0 8 s_mov_b32 s0, 0x12345678\n8 4 s_branch 1\nc 4 s_nop 0\n"
                     "10 4 s_cbranch_scc0 65531\n14 4 s_branch 65531\n18 4 s_branch 100\n");
    assert_int_equal(program.instructions[1].target, 3);
    assert_int_equal(program.instructions[3].target, 0);           /* 0x14 - 5 dwords */
    assert_int_equal(program.instructions[4].target, TARGET_NONE); /* into the first one */
    assert_int_equal(program.instructions[5].target, TARGET_NONE);
    assert_int_equal(program_find_instruction(&program, 8), 1);
    assert_int_equal(program_find_instruction(&program, 4), TARGET_NONE);
    assert_int_equal(program_find_instruction(&program, 0x1c), TARGET_NONE);
    program_free_instructions(&program);
}

static void what_cannot_be_understood_is_kept_and_named(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "v_unheard_of_b32 v0, v1",
        "v_mov_b32_e32 v256, v1",
        "v_mov_b32_e32 v0, v[4:2]",
        "v_mov_b32_e32 v0",
        "v_mov_b32_e32 v0, v1, v2",
        "v_mov_b32_e32 v0, v1 sideways",
        "v_mov_b32_e32 v0, s102",
        "v_mov_b32_e32 v0, v1 row_shl:16",
        "v_mov_b32_e32 1.0, v1",
        "v_add_f64 v0, v[2:3], v[4:5]",
        "s_mov_b64 s[0:1], s2",
        "v_add_f32_e32 v0, 1.5, v1",
        "v_mov_b32_e32 v0, |v1",
        "s_waitcnt vmcnt(64)",
        "s_mov_b64 s[0:39], s[0:1]",
        "v_mov_b32_e32 v0, 0x1ffffffff",
        "s_mov_b32 s0, v1",
        "s_branch s0",
        "s_getreg_b32 s0, hwreg(64)",
        "",
        "ds_swizzle_b32 v0, v1 offset:swizzle(SWAP)",
    };
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; ++t) {
        struct program program;
        decode_line(&program, texts[t]);
        if (!program.instructions[0].defect)
            fail_msg("\"%s\" decodes", texts[t]);
        assert_string_equal(program.instructions[0].text, texts[t]);
        program_free_instructions(&program);
    }
}

static void malformed_listings_are_refused(void **state)
{
    (void)state;
    static const char *const listings[] = {
        "s_nop 0\n",     "zz 4 s_nop 0\n",        "0 s_nop 0\n",
        "0 3 s_nop 0\n", "0 20 s_nop 0\n",        "0 4 s_nop 0\n0 4 s_nop 0\n",
        "4 4 s_nop 0\n", "100000000 4 s_nop 0\n", "0 4 s_nop 0\n8 4 s_nop 0\n",
    };
    for (size_t l = 0; l < sizeof listings / sizeof listings[0]; ++l) {
        struct program program = {0};
        dsajit_error error;
        if (program_decode(&program, listings[l], &error) != DSAJIT_ERROR_CORRUPT)
            fail_msg("\"%s\" is accepted", listings[l]);
        assert_null(program.instructions);
        assert_null(program.listing);
    }
}

static void empty_listings_have_no_instructions(void **state)
{
    (void)state;
    struct program program;
    decode(&program, "");
    assert_int_equal(program.instruction_count, 0);
    assert_non_null(program.instructions[0].defect); /* the end of .text */
    program_free_instructions(&program);
}

/* Changes, drops and doubles bytes of good lines: nothing may crash, under the sanitizers. */
static void damaged_text_is_harmless(void **state)
{
    (void)state;
    static const char good[] =
        "0 8 v_fma_f32 v0, -|v1|, s2, 0.15915494 clamp mul:2\n"
        "8 8 v_mfma_f32_16x16x32_bf16 a[0:3], v[4:7], v[8:11], a[0:3] cbsz:1 abid:2 blgp:3\n"
        "10 8 buffer_load_dwordx4 v[0:3], v4, s[8:11], 0 offen offset:16 sc0 nt lds\n"
        "18 8 v_add_f32_dpp v0, v1, v2 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf\n"
        "20 8 ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM,\"01pi0\")\n"
        "28 8 v_add_u16_sdwa v0, sext(v1), v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD "
        "src0_sel:BYTE_1\n"
        "30 4 s_waitcnt vmcnt(3) lgkmcnt(0)\n34 4 s_getreg_b32 s0, hwreg(HW_REG_MODE, 2, 4)\n"
        "38 4 s_branch 65535\n";
    static const char alphabet[] = "0123456789abcdefvs[]():,.|-_ x\"\n";
    uint32_t random = 12345;
    for (int round = 0; round < 4000; ++round) {
        char text[sizeof good];
        memcpy(text, good, sizeof good);
        for (int change = 0; change < 1 + round % 6; ++change) {
            random = random * 1664525u + 1013904223u;
            size_t at = (random >> 8) % (sizeof good - 1);
            random = random * 1664525u + 1013904223u;
            text[at] = (random >> 28) == 0 ? '\0' : alphabet[(random >> 8) % (sizeof alphabet - 1)];
        }
        struct program program = {0};
        dsajit_error error;
        if (program_decode(&program, text, &error) == DSAJIT_OK)
            program_free_instructions(&program);
    }
}

static int compare_mnemonics(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void rows_are_well_formed_and_unique(void **state)
{
    (void)state;
    static const char *mnemonics[8192];
    size_t count = 0;
    for (size_t t = 0; t < opcode_table_count; ++t) {
        for (size_t r = 0; r < opcode_tables[t]->count; ++r) {
            const struct opcode *row = &opcode_tables[t]->rows[r];
            struct signature signature;
            if (!opcode_parse_signature(row, &signature))
                fail_msg("%s: \"%s\" describes no operands", row->mnemonic, row->operands);
            bool front = signature.count && signature.tokens[0].optional;
            bool back = signature.count && signature.tokens[signature.count - 1].optional;
            if (front && back && signature.count > 1)
                fail_msg("%s: optional operands on both sides", row->mnemonic);
            assert_non_null(row->execute);
            if (opcode_find(row->mnemonic, strlen(row->mnemonic)) != row)
                fail_msg("%s cannot be found", row->mnemonic);
            mnemonics[count++] = row->mnemonic;
        }
    }
    qsort(mnemonics, count, sizeof mnemonics[0], compare_mnemonics);
    for (size_t i = 1; i < count; ++i) {
        if (strcmp(mnemonics[i - 1], mnemonics[i]) == 0)
            fail_msg("%s has two rows", mnemonics[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_by_name_and_range),
        cmocka_unit_test(special_sources),
        cmocka_unit_test(constants_take_the_operands_type),
        cmocka_unit_test(signs_around_operands),
        cmocka_unit_test(immediates),
        cmocka_unit_test(optional_operands_in_front_and_behind),
        cmocka_unit_test(dpp_modifiers),
        cmocka_unit_test(sdwa_modifiers),
        cmocka_unit_test(selections_and_output_modifiers),
        cmocka_unit_test(memory_modifiers),
        cmocka_unit_test(names_of_swizzles),
        cmocka_unit_test(wait_counts),
        cmocka_unit_test(branches_find_their_targets),
        cmocka_unit_test(what_cannot_be_understood_is_kept_and_named),
        cmocka_unit_test(malformed_listings_are_refused),
        cmocka_unit_test(empty_listings_have_no_instructions),
        cmocka_unit_test(damaged_text_is_harmless),
        cmocka_unit_test(rows_are_well_formed_and_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
