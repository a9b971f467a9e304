// SPDX-License-Identifier: Apache-2.0
// The cases of instruction_cases.h: void case_NAME(char *source, char *target).
//
// Each runs its body REPEAT times. In a body, r8 = source, r9 = target; r10 and r11 are in use;
// constants are in this file's own read-only data, never in source or target.
#include "repeat.h"

#define PAGE 4096
#define SOURCE(offset) offset(%r8)
#define TARGET(offset) offset(%r9)

    .macro begin name
    .globl  case_\name
    .type   case_\name, @function
    .p2align 4
case_\name:
    mov     %rdi, %r8
    mov     %rsi, %r9
    mov     $REPEAT, %r11d
.Lagain_\name:
    .endm

    .macro end name
    dec     %r11d
    jnz     .Lagain_\name
    cld
    ret
    .size   case_\name, . - case_\name
    .endm

    .macro end_avx name
    dec     %r11d
    jnz     .Lagain_\name
    vzeroupper
    ret
    .size   case_\name, . - case_\name
    .endm

    .text

// ---- scalar ----
begin load_byte
    movb    (%r8), %al
end load_byte
begin load_word
    movw    (%r8), %ax
end load_word
begin load_long
    movl    (%r8), %eax
end load_long
begin load_quad
    movq    (%r8), %rax
end load_quad
begin store_byte
    movb    %al, (%r9)
end store_byte
begin store_word
    movw    %ax, (%r9)
end store_word
begin store_long
    movl    %eax, (%r9)
end store_long
begin store_quad
    movq    %rax, (%r9)
end store_quad
begin store_immediate
    movq    $7, 64(%r9)
end store_immediate
begin load_then_use_as_address
    movq    (%r8), %rax             // zero
    movq    8(%r9,%rax,8), %rcx
end load_then_use_as_address
begin load_over_own_base
    lea     (%r8), %rax
    movq    (%rax), %rax            // zero: the base is gone
    movq    PAGE(%r8,%rax), %rax
end load_over_own_base
begin many_operands_one_base
    movq    (%r8), %rax
    movq    8(%r8), %rcx
    movq    %rax, (%r9)
    movq    16(%r8), %rax
    movq    %rcx, 8(%r9)
    movq    PAGE(%r8), %rcx
    movq    PAGE-8(%r8), %rdx
    movq    %rax, PAGE(%r9)
    movq    %rax, PAGE-8(%r9)
    addq    512(%r8), %rax
end many_operands_one_base
begin index_changes_between
    xor     %eax, %eax
    movq    (%r8,%rax), %rcx
    mov     $PAGE, %eax
    movq    (%r8,%rax), %rcx
end index_changes_between
begin add_from_memory
    addq    (%r8), %rax
end add_from_memory
begin add_to_memory
    addq    %rax, (%r9)
end add_to_memory
begin increment
    incl    (%r9)
end increment
begin negate
    negq    (%r9)
end negate
begin shift_memory
    shlq    $3, (%r9)
end shift_memory
begin add_with_carry
    adcq    $0, (%r9)
end add_with_carry
begin exchange
    xchgq   %rax, (%r9)
end exchange
begin lock_exchange_add
    lock xaddq %rax, (%r9)
end lock_exchange_add
begin lock_compare_exchange
    xor     %eax, %eax
    xor     %ecx, %ecx
    lock cmpxchgq %rcx, (%r9)       // zero for zero: always succeeds
end lock_compare_exchange
begin lock_compare_exchange_fails
    mov     $1, %eax
    lock cmpxchgq %rax, (%r9)       // a failing exchange writes the old value back
end lock_compare_exchange_fails
begin lock_compare_exchange_16
    xor     %eax, %eax
    xor     %edx, %edx
    mov     %rbx, %rdi
    xor     %ebx, %ebx
    xor     %ecx, %ecx
    lock cmpxchg16b (%r9)
    mov     %rdi, %rbx
end lock_compare_exchange_16
begin lock_bit_set
    lock btsq $5, (%r9)
end lock_bit_set
begin bit_test
    btq     $5, (%r8)
end bit_test
begin bit_string_reaches_next_page
    mov     $(8 * PAGE + 3), %eax   // a register bit offset reaches beyond the operand
    btq     %rax, (%r8)
    btsq    %rax, (%r9)
end bit_string_reaches_next_page
begin compare_with_memory
    cmpq    $3, (%r8)
end compare_with_memory
begin set_byte
    setz    (%r9)
end set_byte
begin conditional_move_not_taken
    xor     %eax, %eax
    cmovnz  (%r8), %rax             // the load happens with any condition
end conditional_move_not_taken
begin non_temporal_store
    movnti  %rax, (%r9)
end non_temporal_store
begin x87_load_and_store
    fldt    (%r8)
    fstpt   (%r9)
end x87_load_and_store
begin no_access
    lea     (%r8,%r9), %rax
    nopl    (%r8)
    prefetcht0 (%r8)
    prefetchnta (%r9)
end no_access
begin flags_survive
    xor     %eax, %eax              // zero flag set
    movq    (%r8), %rcx
    jnz     1f                      // if a recorder changes the flags, this jumps
    stc
    movq    8(%r8), %rcx
    jnc     1f
    cmpb    $1, (%r8)               // 0 < 1: carry
    movb    %al, (%r9)
    jc      2f
1:  ud2
2:
end flags_survive

    // All registers except rsp have a value that must be unchanged afterwards.
begin every_register_survives
    push    %rbx
    push    %rbp
    push    %r12
    push    %r13
    push    %r14
    push    %r15
    mov     $1, %eax
    mov     $2, %ebx
    mov     $3, %ecx
    mov     $5, %esi
    mov     $6, %edi
    mov     $7, %ebp
    mov     $10, %r10d
    mov     $12, %r12d
    mov     $13, %r13d
    mov     $14, %r14d
    mov     $15, %r15d
    stc
    movq    PAGE-4(%r8), %rdx       // straddles: out of line
    movq    %rdx, (%r9)
    movq    8(%r8), %rdx
    jnc     1f
    add     %rbx, %rax
    add     %rcx, %rax
    add     %rsi, %rax
    add     %rdi, %rax
    add     %rbp, %rax
    add     %r10, %rax
    add     %r12, %rax
    add     %r13, %rax
    add     %r14, %rax
    add     %r15, %rax
    cmp     $88, %rax
    pop     %r15
    pop     %r14
    pop     %r13
    pop     %r12
    pop     %rbp
    pop     %rbx
    je      2f
1:  ud2
2:
end every_register_survives
begin red_zone_survives
    mov     %rsp, %r10
    lea     2048(%r9), %rsp
    movq    $42, -8(%rsp)
    movq    PAGE-4(%r8), %rdx       // straddles: out of line
    cmpq    $42, -8(%rsp)
    mov     %r10, %rsp
    je      1f
    ud2
1:
end red_zone_survives
begin vector_registers_survive
    pcmpeqd %xmm0, %xmm0
    movdqa  %xmm0, %xmm7
    movdqa  %xmm0, %xmm15
    movq    (%r8), %rax
    movq    %rax, PAGE(%r9)
    movq    PAGE(%r8), %rax
    movq    PAGE-4(%r8), %rax
    movq    %rax, (%r9)
    pand    %xmm7, %xmm0
    pand    %xmm15, %xmm0
    pmovmskb %xmm0, %eax
    cmp     $0xffff, %eax
    je      1f
    ud2
1:
end vector_registers_survive
begin loop_within_block
    mov     $10, %ecx
1:  movq    (%r8,%rcx,8), %rax
    addq    %rax, (%r9,%rcx,8)
    dec     %ecx
    jnz     1b
end loop_within_block
begin copied_base
    mov     %r8, %rax
    lea     16(%rax), %rcx
    movq    (%rax), %rdx
    movq    8(%rcx), %rdx
    add     $PAGE-16, %rcx
    movq    (%rcx), %rdx
    sub     $PAGE, %rcx
    movq    (%rcx), %rdx
end copied_base
begin partly_overwritten_base
    lea     PAGE(%r8), %rax
    movq    (%rax), %rdx
    movw    %r8w, %ax               // the low 16 bits are those of page 0 again ...
    lea     PAGE(%r8), %rcx
    xor     %r8, %rcx
    test    $0x10000, %ecx          // ... but the bits above them may differ
    jz      1f
    mov     %r8, %rax
1:  movq    (%rax), %rdx
end partly_overwritten_base
begin exchanged_bases
    mov     %r8, %rax
    mov     %r9, %rcx
    movq    (%rax), %rdx
    movq    %rdx, (%rcx)
    xchg    %rax, %rcx
    movq    (%rax), %rdx
    movq    %rdx, (%rcx)
end exchanged_bases
begin group_across_boundary
    lea     PAGE(%r8), %rax
    movq    -24(%rax), %rcx
    movq    -16(%rax), %rcx
    movq    %rcx, -8(%rax)
    movq    (%rax), %rcx
    movq    8(%rax), %rcx
    movq    %rcx, 16(%rax)
    movl    -2(%rax), %ecx
end group_across_boundary
begin thirty_accesses
    .set    at, 0
    .rept   30
    movq    at(%r8), %rax
    movq    %rax, 2048+at(%r9)
    .set    at, at + 64
    .endr
end thirty_accesses

// ---- page boundary ----
begin last_quad_of_page
    movq    PAGE-8(%r8), %rax
    movq    %rax, PAGE-8(%r9)
end last_quad_of_page
begin straddling_load
    movq    PAGE-4(%r8), %rax
end straddling_load
begin straddling_store
    movq    %rax, PAGE-1(%r9)
end straddling_store
begin straddling_add
    addl    %eax, PAGE-2(%r9)
end straddling_add
begin straddling_word
    movw    PAGE-1(%r8), %ax
    movw    %ax, PAGE-1(%r9)
end straddling_word
begin straddling_x87
    fldt    PAGE-8(%r8)
    fstpt   PAGE-2(%r9)
end straddling_x87

// ---- stack ----
    .macro enter_private_stack
    mov     %rsp, %r10
    lea     2048(%r9), %rsp
    .endm
    .macro leave_private_stack
    mov     %r10, %rsp
    .endm

begin push_and_pop
    enter_private_stack
    push    %rax
    push    $5
    pop     %rcx
    pop     %rax
    leave_private_stack
end push_and_pop
begin push_and_pop_memory
    enter_private_stack
    pushq   (%r8)
    popq    PAGE(%r9)
    leave_private_stack
end push_and_pop_memory
begin push_and_pop_flags
    enter_private_stack
    pushfq
    popfq
    leave_private_stack
end push_and_pop_flags
begin call_and_return
    enter_private_stack
    call    .Ldo_nothing
    leave_private_stack
end call_and_return
begin call_through_memory
    enter_private_stack
    lea     .Ldo_nothing(%rip), %rax
    mov     %rax, PAGE(%r9)
    call    *PAGE(%r9)
    leave_private_stack
end call_through_memory
begin jump_through_memory
    lea     1f(%rip), %rax
    mov     %rax, (%r9)
    jmp     *(%r9)
1:
end jump_through_memory
begin enter_and_leave
    mov     %rbp, %rdi
    enter_private_stack
    enter   $32, $0
    leave
    leave_private_stack
    mov     %rdi, %rbp
end enter_and_leave
begin stack_pointer_operands
    enter_private_stack
    movq    8(%rsp), %rax
    movq    %rax, -8(%rsp)
    addq    16(%rsp), %rax
    leave_private_stack
end stack_pointer_operands
.Ldo_nothing:
    ret

// ---- strings ----
    .macro strings offset, count
    lea     \offset(%r8), %rsi
    lea     \offset(%r9), %rdi
    mov     $\count, %ecx
    .endm

begin movs_once
    strings 0, 0
    movsq
end movs_once
begin cmps_once
    strings 0, 0
    cmpsb
end cmps_once
begin rep_movsb
    strings 0, 100
    rep movsb
end rep_movsb
begin rep_movsq
    strings 0, 100
    rep movsq
end rep_movsq
begin rep_movsb_none
    strings 0, 0
    rep movsb
end rep_movsb_none
begin rep_movsb_two_pages
    strings 0, 8192
    rep movsb
end rep_movsb_two_pages
begin rep_movsq_straddling
    strings (PAGE-20), 4              // at -20, -12, -4 (straddles) and +4
    rep movsq
end rep_movsq_straddling
begin rep_movsb_backward
    strings (PAGE+49), 100
    std
    rep movsb
    cld
end rep_movsb_backward
begin rep_stosb
    strings 0, 100
    rep stosb
end rep_stosb
begin rep_stosw
    strings 0, 100
    rep stosw
end rep_stosw
begin rep_stosl
    strings 0, 100
    rep stosl
end rep_stosl
begin rep_stosq
    strings 0, 100
    rep stosq
end rep_stosq
begin rep_lodsb
    strings 0, 100
    rep lodsb
end rep_lodsb
begin rep_lodsq
    strings 0, 100
    rep lodsq
end rep_lodsq
begin repe_cmpsb_equal
    strings 0, 100
    repe cmpsb
end repe_cmpsb_equal
begin repne_cmpsb_stops
    strings 0, 100
    repne cmpsb
end repne_cmpsb_stops
begin repe_scasb_equal
    strings 0, 100
    xor     %eax, %eax
    repe scasb
end repe_scasb_equal
begin repne_scasb_stops
    strings 0, 100
    xor     %eax, %eax
    repne scasb
end repne_scasb_stops
begin repne_scasl_never_found
    strings 0, 100
    mov     $1, %eax
    repne scasl
end repne_scasl_never_found

// ---- SSE ----
begin sse_load_and_store
    movaps  (%r8), %xmm0
    movdqa  %xmm0, (%r9)
end sse_load_and_store
begin sse_straddling
    movups  PAGE-8(%r8), %xmm0
    movdqu  %xmm0, PAGE-1(%r9)
end sse_straddling
begin sse_scalar
    movss   (%r8), %xmm0
    addsd   8(%r8), %xmm0
    movsd   %xmm0, (%r9)
    movd    %xmm0, 8(%r9)
end sse_scalar
begin sse_halves
    movhps  (%r8), %xmm0
    movlps  8(%r8), %xmm0
    movhps  %xmm0, (%r9)
    movlps  %xmm0, 8(%r9)
end sse_halves
begin sse_non_temporal
    movntps %xmm0, (%r9)
end sse_non_temporal
begin sse_masked_store
    movdqa  .Lbytes_3_and_7(%rip), %xmm1
    lea     64(%r9), %rdi
    maskmovdqu %xmm1, %xmm0
end sse_masked_store
begin sse_masked_store_none
    pxor    %xmm1, %xmm1
    lea     64(%r9), %rdi
    maskmovdqu %xmm1, %xmm0
end sse_masked_store_none
begin sse_masked_store_second_page
    movdqa  .Lbytes_3_and_7(%rip), %xmm1
    lea     PAGE-2(%r9), %rdi
    maskmovdqu %xmm1, %xmm0
end sse_masked_store_second_page

// ---- AVX, AVX2 ----
begin avx_load_and_store
    vmovaps (%r8), %ymm0
    vmovdqu %ymm0, (%r9)
end_avx avx_load_and_store
begin avx_straddling
    vmovups PAGE-16(%r8), %ymm0
    vmovdqu %ymm0, PAGE-31(%r9)
end_avx avx_straddling
begin avx_operand
    vaddpd  32(%r8), %ymm0, %ymm0
end_avx avx_operand
begin avx_broadcast
    vbroadcastss (%r8), %ymm0
    vpbroadcastq PAGE-8(%r8), %ymm1
end_avx avx_broadcast
begin avx_masked
    vmovdqa .Llanes_0_3(%rip), %ymm1
    vmaskmovps (%r8), %ymm1, %ymm0
    vmaskmovps %ymm0, %ymm1, (%r9)
end_avx avx_masked
begin avx_masked_none
    vpxor   %ymm1, %ymm1, %ymm1
    vmaskmovps (%r8), %ymm1, %ymm0
    vmaskmovps %ymm0, %ymm1, (%r9)
end_avx avx_masked_none
begin avx_masked_second_page
    vmovdqa .Llanes_5_6(%rip), %ymm1
    vmaskmovps PAGE-16(%r8), %ymm1, %ymm0
    vmaskmovps %ymm0, %ymm1, PAGE-16(%r9)
end_avx avx_masked_second_page
begin avx_masked_both_pages
    vmovdqa .Llanes_3_5(%rip), %ymm1
    vmaskmovps PAGE-16(%r8), %ymm1, %ymm0
    vmaskmovps %ymm0, %ymm1, PAGE-16(%r9)
end_avx avx_masked_both_pages
begin avx2_masked_integers
    vmovdqa .Llanes_0_3(%rip), %ymm1
    vpmaskmovd (%r8), %ymm1, %ymm0
    vpmaskmovd %ymm0, %ymm1, (%r9)
end_avx avx2_masked_integers
begin avx2_gather_all
    vpcmpeqd %ymm1, %ymm1, %ymm1
    vmovdqa .Lindices(%rip), %ymm2
    vgatherdps %ymm1, (%r8,%ymm2,4), %ymm0
end_avx avx2_gather_all
begin avx2_gather_some
    vmovdqa .Llanes_0_3_5_6(%rip), %ymm1
    vmovdqa .Lindices(%rip), %ymm2
    vpgatherdd %ymm1, (%r8,%ymm2,4), %ymm0
end_avx avx2_gather_some
begin avx2_gather_none
    vpxor   %ymm1, %ymm1, %ymm1
    vmovdqa .Lindices(%rip), %ymm2
    vpgatherdd %ymm1, (%r8,%ymm2,4), %ymm0
end_avx avx2_gather_none
begin avx2_gather_quads
    vpcmpeqd %ymm1, %ymm1, %ymm1
    vmovdqa .Lquad_indices(%rip), %ymm2
    vpgatherqq %ymm1, (%r8,%ymm2,8), %ymm0
end_avx avx2_gather_quads
begin avx2_gather_straddling
    vpcmpeqd %ymm1, %ymm1, %ymm1
    vmovdqa .Lquad_indices(%rip), %ymm2
    vgatherqpd %ymm1, PAGE-4-8*8(%r8,%ymm2,1), %ymm0
    // byte offsets 4092 - 64 + {0, 64, 512, 520}: page 0, both, page 1, page 1; and once more below
    vmovsd  (%r8), %xmm0
end_avx avx2_gather_straddling

// ---- AVX-512 ----
begin avx512_load_and_store
    vmovdqu64 (%r8), %zmm0
    vmovups %zmm0, (%r9)
end_avx avx512_load_and_store
begin avx512_straddling
    vmovdqu32 PAGE-60(%r8), %zmm0
    vmovdqu64 %zmm0, PAGE-8(%r9)
end_avx avx512_straddling
begin avx512_embedded_broadcast
    vaddps  (%r8){1to16}, %zmm0, %zmm0
end_avx avx512_embedded_broadcast
begin avx512_masked
    mov     $0x1001, %eax
    kmovw   %eax, %k1
    vmovdqu32 (%r8), %zmm0{%k1}{z}
    vmovdqu32 %zmm0, (%r9){%k1}
end_avx avx512_masked
begin avx512_masked_compare
    mov     $0x40, %eax
    kmovw   %eax, %k1
    vpcmpd  $1, (%r8){1to8}, %ymm0, %k2{%k1}
end_avx avx512_masked_compare
begin avx512_masked_none
    kxorw   %k1, %k1, %k1
    vmovdqu32 (%r8), %zmm0{%k1}{z}
    vmovdqu32 %zmm0, (%r9){%k1}
end_avx avx512_masked_none
begin avx512_masked_first_page
    mov     $0x00f0, %eax
    kmovw   %eax, %k1
    vmovdqu32 PAGE-32(%r8), %zmm0{%k1}{z}
    vmovdqu32 %zmm0, PAGE-32(%r9){%k1}
end_avx avx512_masked_first_page
begin avx512_masked_second_page
    mov     $0xff00, %eax
    kmovw   %eax, %k1
    vmovdqu32 PAGE-32(%r8), %zmm0{%k1}{z}
    vmovdqu32 %zmm0, PAGE-32(%r9){%k1}
end_avx avx512_masked_second_page
begin avx512_masked_both_pages
    mov     $0x0180, %eax
    kmovw   %eax, %k1
    vmovups PAGE-32(%r8), %zmm0{%k1}{z}
    vmovups %zmm0, PAGE-32(%r9){%k1}
end_avx avx512_masked_both_pages
begin avx512_masked_bytes
    mov     $0x10, %eax
    kmovq   %rax, %k1
    vmovdqu8 (%r8), %zmm0{%k1}{z}
    vmovdqu8 %zmm0, (%r9){%k1}
end_avx avx512_masked_bytes
begin avx512_masked_operand
    mov     $0x10, %eax
    kmovw   %eax, %k1
    vpaddd  (%r8), %zmm1, %zmm0{%k1}{z}
end_avx avx512_masked_operand
begin avx512_masked_operand_none
    kxorw   %k1, %k1, %k1
    vpaddd  (%r8), %zmm1, %zmm0{%k1}{z}
end_avx avx512_masked_operand_none
begin avx512_masked_256_bits
    mov     $0x11, %eax
    kmovw   %eax, %k1
    vmovdqu32 (%r8), %ymm0{%k1}{z}
    vmovdqu32 %ymm0, (%r9){%k1}
end_avx avx512_masked_256_bits
begin avx512_compress_and_expand
    mov     $0x0f0f, %eax
    kmovw   %eax, %k1
    vexpandps (%r8), %zmm0{%k1}{z}
    vcompressps %zmm0, (%r9){%k1}
end_avx avx512_compress_and_expand
begin avx512_compress_within_page
    mov     $0xf000, %eax           // lanes 12-15 are written to the four places before the boundary
    kmovw   %eax, %k1
    vpcompressd %zmm0, PAGE-16(%r9){%k1}
end_avx avx512_compress_within_page
begin avx512_gather_all
    kxnorw  %k1, %k1, %k1
    vmovdqu32 .Lindices(%rip), %zmm2
    vgatherdps (%r8,%zmm2,4), %zmm0{%k1}
end_avx avx512_gather_all
begin avx512_gather_some
    mov     $0x3205, %eax           // lanes 0, 2, 9 on page 0; 12, 13 on page 1
    kmovw   %eax, %k1
    vmovdqu32 .Lindices(%rip), %zmm2
    vpgatherdd (%r8,%zmm2,4), %zmm0{%k1}
end_avx avx512_gather_some
begin avx512_gather_none
    kxorw   %k1, %k1, %k1
    vmovdqu32 .Lindices(%rip), %zmm2
    vpgatherdd (%r8,%zmm2,4), %zmm0{%k1}
end_avx avx512_gather_none
begin avx512_scatter_all
    kxnorw  %k1, %k1, %k1
    vmovdqu32 .Lindices(%rip), %zmm2
    vscatterdps %zmm0, (%r9,%zmm2,4){%k1}
end_avx avx512_scatter_all
begin avx512_scatter_some
    mov     $0x3205, %eax
    kmovw   %eax, %k1
    vmovdqu32 .Lindices(%rip), %zmm2
    vpscatterdd %zmm0, (%r9,%zmm2,4){%k1}
end_avx avx512_scatter_some
begin avx512_scatter_none
    kxorw   %k1, %k1, %k1
    vmovdqu32 .Lindices(%rip), %zmm2
    vpscatterdd %zmm0, (%r9,%zmm2,4){%k1}
end_avx avx512_scatter_none
begin avx512_scatter_quads
    kxnorw  %k1, %k1, %k1
    vmovdqu64 .Leight_quad_indices(%rip), %zmm2
    vpscatterqq %zmm0, (%r9,%zmm2,8){%k1}
end_avx avx512_scatter_quads

    .section .rodata
    .balign 64
// Long indices: lanes 0-3 and 8-11 on page 0, lanes 4-7 and 12-15 on page 1.
.Lindices:
    .long   0, 1, 500, 1023, 1024, 1100, 1500, 2047, 2, 3, 501, 1022, 1025, 1101, 1501, 2046
.Lquad_indices:
    .quad   0, 64, 512, 520
.Leight_quad_indices:
    .quad   0, 64, 511, 100, 512, 520, 1023, 1000
    .balign 64
.Lbytes_3_and_7:
    .byte   0, 0, 0, 0x80, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0, 0
    .balign 64
.Llanes_0_3:
    .long   -1, 0, 0, -1, 0, 0, 0, 0
    .balign 32
.Llanes_5_6:
    .long   0, 0, 0, 0, 0, -1, -1, 0
    .balign 32
.Llanes_3_5:
    .long   0, 0, 0, -1, 0, -1, 0, 0
    .balign 32
.Llanes_0_3_5_6:
    .long   -1, 0, 0, -1, 0, -1, -1, 0

    .section .note.GNU-stack, "", @progbits
