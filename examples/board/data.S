/* data.S - files of specs/digits in flash, of which a program keeps those that it reads; modc_reader finds what is in them. */
    .macro file name
    .section .rodata.digits_\name, "a"
    .global digits_\name, digits_\name\()_end
    .balign 8
digits_\name:
    .incbin "\name\().safetensors"
digits_\name\()_end:
    .endm

    file train
    file test
    file expect

    .section .note.GNU-stack, "", %progbits
