/* start.c - what runs before main on any Cortex-M: the table of vectors, and the code behind its reset vector. */
#include <stdint.h>

extern uint32_t data_begin[], data_end[], data_in_flash[], bss_begin[], bss_end[], stack_top[]; /* mps2.ld */

int main(void);
void board_exit(int status) __attribute__((noreturn));
void reset(void);

/* Bits 20 to 23 give access to the floating-point unit. */
#define CPACR (*(volatile uint32_t *)0xe000ed88)

/* Bit 3 makes a fault of an access that is not aligned, as a Cortex-M0 does, whatever core runs a program for one. */
#define CCR (*(volatile uint32_t *)0xe000ed14)

static void fault(void)
{
    board_exit(3); /* a chip would restart, or stop here for the debugger */
}

struct vectors {
    uint32_t *stack;
    void (*handlers[15])(void); /* reset, then those of the core; interrupts of devices would follow */
};
extern const struct vectors vectors;

const struct vectors vectors __attribute__((section(".vectors"))) = {
    stack_top,
    {reset, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault},
};

void reset(void)
{
    const uint32_t *from = data_in_flash;

    CPACR |= 0xfu << 20;
#ifdef __ARM_ARCH_6M__
    CCR |= 1u << 3;
#endif
    __asm__ volatile("dsb\n\tisb");
    for (uint32_t *to = data_begin; to < data_end; to++)
        *to = *from++;
    for (uint32_t *to = bss_begin; to < bss_end; to++)
        *to = 0;
    board_exit(main());
}
