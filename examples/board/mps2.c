/* mps2.c - the serial line, the timer and the way out of the emulator; see mps2.h. BOARD_MPS3: of the larger board. */
#include "mps2.h"

#ifdef BOARD_MPS3
#define UART 0x49303000
#define COUNTER_CONTROL (*(volatile uint32_t *)0x58100000)
#define COUNTER_VALUE (*(volatile uint32_t *)0x48101000)
#else
#define UART 0x40004000
#define TIMER_CONTROL (*(volatile uint32_t *)0x40000000)
#define TIMER_VALUE (*(volatile uint32_t *)0x40000004)
#define TIMER_RELOAD (*(volatile uint32_t *)0x40000008)
#endif
#define UART_DATA (*(volatile uint32_t *)UART)
#define UART_STATE (*(volatile uint32_t *)(UART + 4))
#define UART_CONTROL (*(volatile uint32_t *)(UART + 8))
#define UART_DIVIDER (*(volatile uint32_t *)(UART + 16))

enum { UART_FULL = 1, UART_SENDS = 1, TIMER_RUNS = 1 };

void board_open(void)
{
    UART_DIVIDER = 217; /* 115200 baud of 25 MHz */
    UART_CONTROL = UART_SENDS;
#ifdef BOARD_MPS3
    COUNTER_CONTROL = TIMER_RUNS;
#else
    TIMER_RELOAD = UINT32_MAX;
    TIMER_VALUE = UINT32_MAX;
    TIMER_CONTROL = TIMER_RUNS;
#endif
}

static void print_byte(char byte)
{
    while (UART_STATE & UART_FULL)
        continue;
    UART_DATA = (unsigned char)byte;
}

void board_print(const char *text)
{
    for (; *text; text++)
        print_byte(*text);
}

void board_print_bytes(const char *text, int bytes)
{
    for (int i = 0; i < bytes; i++)
        print_byte(text[i]);
}

static void print_digits(uint32_t number, int least)
{
    char digits[10];
    int count = 0;

    for (; number > 0 || count < least; number /= 10)
        digits[count++] = (char)('0' + number % 10);
    while (count > 0)
        print_byte(digits[--count]);
}

void board_print_number(const char *before, uint32_t number, const char *behind)
{
    board_print(before);
    print_digits(number, 1);
    board_print(behind);
}

void board_print_fraction(const char *before, float number, int digits, const char *behind)
{
    uint32_t unit = 1, all;

    for (int i = 0; i < digits; i++)
        unit *= 10;
    all = (uint32_t)(number * (float)unit + 0.5f);
    board_print_number(before, all / unit, ".");
    print_digits(all % unit, digits);
    board_print(behind);
}

#ifdef BOARD_MPS3
uint32_t board_ticks(void)
{
    return COUNTER_VALUE;
}

/* The counter counts at 32 MHz, and an instruction takes 64 ns of the emulator's time: 2.048 ticks. */
uint32_t board_instructions(uint32_t begin)
{
    return (uint32_t)((uint64_t)(COUNTER_VALUE - begin) * 125 / 256);
}
#else
uint32_t board_ticks(void)
{
    return TIMER_VALUE;
}

/* The timer counts down at 25 MHz, and an instruction takes 64 ns of the emulator's time: 1.6 ticks. */
uint32_t board_instructions(uint32_t begin)
{
    return (begin - TIMER_VALUE) / 8 * 5;
}
#endif

void board_exit(int status)
{
    const uint32_t words[2] = {0x20026, (uint32_t)status}; /* the program has ended by itself */
    register uint32_t operation __asm__("r0") = 0x20;      /* semihosting: SYS_EXIT_EXTENDED */
    register const uint32_t *argument __asm__("r1") = words;

    __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(argument) : "memory");
    for (;;)
        continue;
}
