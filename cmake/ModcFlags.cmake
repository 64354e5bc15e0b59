# The flags of nvcc that kernels ask for, in a file which it reads them from: a build knows them when modc has run, and not when it
# is configured.
#
#     cmake -D KERNELS=NAME.cu -D FLAGS=NAME.nvcc -P ModcFlags.cmake
cmake_minimum_required(VERSION 3.20)
set(flags "")
file(STRINGS ${KERNELS} asked REGEX "^#define MODC_FLUSHES ")
if(asked)
    set(flags "-ftz=true\n")
endif()
file(WRITE ${FLAGS} "${flags}")
