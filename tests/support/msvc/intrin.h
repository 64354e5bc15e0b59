#pragma once
long _InterlockedAnd(volatile long *cell, long mask);
long _InterlockedOr(volatile long *cell, long mask);
long _InterlockedExchange(volatile long *cell, long value);
long _InterlockedIncrement(volatile long *cell);
unsigned char _BitScanForward(unsigned long *place, unsigned long mask);
unsigned int _mm_getcsr(void);
void _mm_setcsr(unsigned int mode);
