/* mps2.h - what the programs use of the board: Arm's MPS2 with the image AN386, as QEMU has it, or with BOARD_MPS3 the MPS3 with
 * AN547. */
#ifndef MPS2_H
#define MPS2_H

#include <stdint.h>

void board_open(void);
void board_print(const char *text);
void board_print_bytes(const char *text, int bytes);
void board_print_number(const char *before, uint32_t number, const char *behind);

/* In digits behind the point. */
void board_print_fraction(const char *before, float number, int digits, const char *behind);

/* What board_instructions begins to count from. */
uint32_t board_ticks(void);

/* Instructions since then, of up to 2 billion, where the emulator counts them (-icount shift=6). */
uint32_t board_instructions(uint32_t begin);

/* Ends the emulator. */
void board_exit(int status) __attribute__((noreturn));

#endif
