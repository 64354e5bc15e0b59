# cortex_m55.cmake - CMAKE_TOOLCHAIN_FILE for a chip with a Cortex-M55 and no operating system.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # programs need the linker script

# The core's flags are those that `modc help targets` prints.
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -ffunction-sections -fdata-sections")
set(CMAKE_C_FLAGS_MINSIZEREL "-Os" CACHE STRING "")
