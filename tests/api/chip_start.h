/* chip_start.h - where an image for a chip begins on an emulator that has Linux around the processor: its status is what run() gives. */
static int run(void);
void start(void);

void start(void)
{
    register int number __asm__("r7") = 1; /* exit */
    register int status __asm__("r0") = run();

    __asm__ volatile("svc 0" : : "r"(number), "r"(status));
    for (;;)
        continue;
}
