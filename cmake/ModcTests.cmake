# The suites of tests/: what stands there is found by name, so that a new case is a new file and nothing else.
# Labels: unit, cuda, fuzz, failing, header, golden, errors, commands, planner, determinism, vectors, forced (vectors with
# --plan), variants, aarch64, sanitize, compile, text (how emitted text grows and changes), api, docs, package, python, examples, bench, long,
# share0 to share3 (of what is long, what scripts/test.sh runs together); or, with -DMODC_SOAK=ON, soak: the searches of the other
# labels for hours (ctest -L soak); with -DMODC_GPU=ON, gpu: what the label cuda does on the stand-in, by nvcc on a GPU (ctest -L gpu),
# of every so many specs (-DMODC_GPU_EVERY=10). Skipped where that is missing.

include(CheckCSourceCompiles)
include(CheckCSourceRuns)
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
if(NOT CMOCKA_FOUND)
    message(WARNING "cmocka is missing: no unit tests")
endif()
find_program(MODC_CC NAMES cc DOC "C compiler that modc finds")
find_program(MODC_CXX NAMES g++ c++ clang++ DOC "C++ compiler for tests of headers")
find_program(MODC_CLANG NAMES clang DOC "Second C compiler for tests of emitted code")
find_program(MODC_CLANGXX NAMES clang++ DOC "Second C++ compiler for tests of CUDA")
find_program(MODC_NVCC NAMES nvcc PATHS /usr/local/cuda/bin DOC "CUDA compiler for tests of kernels")
find_program(MODC_AARCH64 NAMES aarch64-linux-gnu-gcc DOC "Cross compiler for tests of emitted code")
find_program(MODC_QEMU NAMES qemu-aarch64 DOC "Runs what the cross compiler made")
find_program(MODC_ARM NAMES arm-none-eabi-gcc DOC "Firmware compiler for tests of emitted code")
find_program(MODC_QEMU_ARM NAMES qemu-arm DOC "Runs what the firmware compiler made")
find_program(MODC_QEMU_BOARD NAMES qemu-system-arm DOC "Runs the example for a board")
find_program(MODC_CLANG_FORMAT NAMES clang-format-14 clang-format DOC "For the test of the layout of C files")
find_program(MODC_PYTHON NAMES python3 DOC "Python for tests of numbers; with torch for the label long")

# Exits with 0 where this machine has what the compiler was told to use.
set(MODC_CPU_CHECK "
int main(void)
{
#if defined __x86_64__ && defined __AVX512F__
    return !__builtin_cpu_supports(\"avx512f\");
#elif defined __x86_64__ && defined __AVX2__
    return !(__builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\"));
#else
    return 0;
#endif
}")

# The compiler for sanitized programs: clang at -O0 takes half the time of gcc, and checks as much. -O0 compiles in a third
# of the time; the plain cases and the compile suite see to what optimisers find.
set(MODC_SANITIZER ${CMAKE_C_COMPILER})
set(MODC_CHECKS "-O0 -fsanitize=address,undefined -fno-sanitize-recover=all")
if(MODC_CLANG)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/sanitizer)
    file(WRITE ${program}.c "int main(void) { return 0; }\n")
    execute_process(COMMAND ${MODC_CLANG} -fsanitize=address,undefined ${program}.c -o ${program}
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
        set(MODC_SANITIZER ${MODC_CLANG})
    endif()
endif()

# modc_test(NAME LABEL COMMAND...): run from the root of the repository.
function(modc_test name label)
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 900
                         ENVIRONMENT_MODIFICATION "XDG_CACHE_HOME=set:${CMAKE_CURRENT_BINARY_DIR}/cache")
endfunction()

# modc_soak_test(NAME COMMAND...): a search that takes up to hours, of which another test is a sample.
function(modc_soak_test name)
    if(MODC_SOAK)
        modc_test(soak_${name} soak ${ARGN})
        set_tests_properties(soak_${name} PROPERTIES TIMEOUT 36000)
    endif()
endfunction()

# What compiles a file once for the same text and flags. Without the sanitizers of other programs: it shall be quick.
function(modc_once)
    add_executable(modc_once support/once.c)
    target_compile_options(modc_once PRIVATE ${MODC_WARNINGS} -Wconversion $<$<BOOL:${MODC_WERROR}>:-Werror>)
    if(MODC_PYTHON)
        modc_test(once compile ${MODC_PYTHON} tests/support/once.py $<TARGET_FILE:modc_once>
                  ${CMAKE_CURRENT_BINARY_DIR}/once_test)
        set_property(TEST once PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
    endif()
endfunction()

# modc_compiles(TEST COMPILER [NAME=VALUE...]): the environment of a test that compiles models with the runtime, which is
# compiled once for the same compiler and flags.
function(modc_compiles name compiler)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "CC=$<TARGET_FILE:modc_once> ${compiler}"
                 "ONCE=${CMAKE_CURRENT_BINARY_DIR}/once" ${ARGN})
endfunction()

# modc_builds(TEST [NAME=VALUE...]): the environment of a test that builds a project with CMake, in the same way.
function(modc_builds name)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}"
                 "CMAKE_C_COMPILER_LAUNCHER=$<TARGET_FILE:modc_once>" "ONCE=${CMAKE_CURRENT_BINARY_DIR}/once" ${ARGN})
endfunction()

# modc_transcript_test(NAME LABEL FILE): command lines with what they print.
function(modc_transcript_test name label file)
    modc_test(${name} ${label} ${MODC_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/support/commands.py $<TARGET_FILE:modc>
              ${file})
    if(MODC_CC)
        modc_compiles(${name} ${MODC_CC})
    endif()
endfunction()

# modc_shares(TEST FOLDER CASE): one at a time of those that keep one program in the folder, of which the first compiles it.
function(modc_shares name folder case)
    string(REGEX MATCH "^[^ ]+ ([^ ]+)" spec "${case}")
    set(program ${folder}:${CMAKE_MATCH_1})
    string(REGEX MATCHALL " --(backward|dispatch|(dtype|plan|set) [^ ]+)" options "${case}")
    list(JOIN options "" options)
    set_property(TEST ${name} PROPERTY RESOURCE_LOCK "${program}${options}")
endfunction()

# modc_first(TESTS...): those that start first, in this order, as far as there are such tests: long ones, lest one of them
# runs alone in the end, and before them what waits for two cores at once.
function(modc_first)
    set(cost 10000)
    foreach(name ${ARGN})
        if(TEST ${name})
            set_tests_properties(${name} PROPERTIES COST ${cost})
            set_property(GLOBAL APPEND PROPERTY modc_first ${name})
        endif()
        math(EXPR cost "${cost} - 1")
    endforeach()
endfunction()

function(modc_unit_program program source)
    string(REGEX REPLACE "^test_" "unit_" name ${program})
    add_executable(${program} ${source})
    target_link_libraries(${program} PRIVATE modc_generator modc_runtime PkgConfig::CMOCKA)
    target_compile_definitions(${program} PRIVATE _POSIX_C_SOURCE=200809L)
    modc_compile(${program})
    modc_test(${name} unit ${program})
    if(name MATCHES "^unit_(training|weights)$") # of which each model has the runtime
        modc_compiles(${name} ${CMAKE_C_COMPILER})
    else()
        set_property(TEST ${name} PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
    endif()
    if(MODC_SANITIZE) # what is emitted is compiled in every way by the tests of other builds
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "MODC_TEST_QUICK=1")
    endif()
endfunction()

# tests/unit/test_<room>.c: one program a room, with the generator, the runtime and cmocka.
function(modc_unit_tests)
    if(NOT CMOCKA_FOUND)
        return()
    endif()
    file(GLOB driver CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/driver/modc_driver*.c)
    add_library(modc_driver STATIC ${driver})
    set_target_properties(modc_driver PROPERTIES C_STANDARD 99)
    target_link_libraries(modc_driver PUBLIC modc_runtime)
    modc_compile(modc_driver -Wconversion)
    file(GLOB sources CONFIGURE_DEPENDS unit/test_*.c)
    if(MODC_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL "Debug") # which compute much
        set_source_files_properties(unit/test_emit_kernel.c unit/test_grammar.c PROPERTIES COMPILE_OPTIONS -O1)
    endif()
    foreach(source ${sources})
        get_filename_component(program ${source} NAME_WE)
        modc_unit_program(${program} ${source})
    endforeach()
    target_link_libraries(test_driver PRIVATE modc_driver)
endfunction()

# tests/cuda/test_*.cu against the stand-in for a GPU, checked, by both compilers; what nvcc makes of the kernels.
function(modc_cuda_tests)
    if(MODC_NVCC)
        modc_test(cuda_ptxas cuda ${MODC_PYTHON} tests/support/ptxas.py ${MODC_NVCC} tests/cuda/kernels.cu tests/cuda/kernels.json
                  sm_80,sm_90,sm_100 -Iruntime)
        file(GLOB golden CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} golden/*/*.cu)
        modc_test(cuda_nvcc cuda ${MODC_PYTHON} tests/support/nvcc.py ${MODC_NVCC} sm_80,sm_90,sm_100
                  runtime/cuda/modc_cuda_kernels.cu ${golden})
        if(TARGET modc)
            modc_test(cuda_run cuda tests/support/cuda_run.sh $<TARGET_FILE:modc> ${MODC_NVCC})
            modc_compiles(cuda_run ${CMAKE_C_COMPILER})
            modc_test(cuda_launches cuda ${MODC_PYTHON} tests/support/launches.py $<TARGET_FILE:modc> ${MODC_NVCC}
                      tests/specs/attention.yaml tests/specs/norms.yaml)
        endif()
    else()
        message(STATUS "nvcc is not there: kernels are not compiled for GPUs")
    endif()
    if(NOT CMOCKA_FOUND OR MODC_SANITIZE)
        return()
    endif()
    file(GLOB host CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/cuda_host/*.c)
    add_library(modc_cuda_host STATIC ${host})
    target_include_directories(modc_cuda_host PUBLIC ${PROJECT_SOURCE_DIR}/runtime/cuda_host)
    modc_compile(modc_cuda_host -Wconversion)
    target_link_libraries(modc_cuda_host PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
    file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/cuda_host/*.h ${PROJECT_SOURCE_DIR}/runtime/modc_cuda.h cuda/*.h)
    file(GLOB tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} cuda/test_*.cu)
    foreach(cxx ${MODC_CXX} ${MODC_CLANGXX})
        get_filename_component(compiler ${cxx} NAME)
        foreach(test ${tests})
            get_filename_component(name ${test} NAME_WE)
            if(compiler MATCHES "clang" AND MODC_CXX AND NOT name STREQUAL "test_faults" AND NOT MODC_SOAK)
                continue() # what the second compiler tells the checker is the same for all of them
            endif()
            set(with cuda/kernels.cu)
            if(name STREQUAL test_faults)
                list(PREPEND with -DFAULT=kernels_fault)
            endif()
            set(program ${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}_${compiler})
            list(APPEND programs ${program})
            add_custom_command(OUTPUT ${program} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} VERBATIM
                               COMMAND ${cxx} -std=c++17 -O1 -g ${MODC_CXX_WARNINGS} -Wno-sign-conversion -Werror
                                       -fsanitize=thread,alignment -c -x c++ ${test} -o ${program}.o
                                       -I${PROJECT_SOURCE_DIR}/runtime/cuda_host -I${PROJECT_SOURCE_DIR}/runtime
                               COMMAND ${cxx} -std=c++17 -O1 -g ${MODC_CXX_WARNINGS} -Wno-sign-conversion -Werror
                                       -fsanitize=thread,alignment -c -x c++ ${with} -o ${program}_kernels.o
                                       -I${PROJECT_SOURCE_DIR}/runtime/cuda_host -I${PROJECT_SOURCE_DIR}/runtime
                               COMMAND ${cxx} ${program}.o ${program}_kernels.o $<TARGET_FILE:modc_cuda_host>
                                       ${CMOCKA_LINK_LIBRARIES} -ldl -pthread -o ${program}
                               DEPENDS ${test} cuda/kernels.cu ${headers} modc_cuda_host)
            string(REGEX REPLACE "^test_" "cuda_" name ${name})
            modc_test(${name}_${compiler} cuda ${program})
        endforeach()
    endforeach()
    add_custom_target(modc_cuda_programs ALL DEPENDS ${programs})
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cuda)
endfunction()

# modc_unit_variant(ROOM VARIANT FLAGS...): the same program compiled once more, if this machine can run it.
function(modc_unit_variant room variant)
    set(CMAKE_REQUIRED_FLAGS "${ARGN}")
    list(JOIN CMAKE_REQUIRED_FLAGS " " CMAKE_REQUIRED_FLAGS)
    check_c_source_runs("${MODC_CPU_CHECK}" MODC_RUNS_${variant})
    if(CMOCKA_FOUND AND MODC_RUNS_${variant} AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/unit/test_${room}.c)
        modc_unit_program(test_${room}_${variant} unit/test_${room}.c)
        target_compile_options(test_${room}_${variant} PRIVATE ${ARGN})
    endif()
endfunction()

# Every C file is laid out as .clang-format says.
function(modc_format_test)
    if(MODC_CLANG_FORMAT)
        modc_test(header_format header ${MODC_PYTHON} tests/support/format.py ${MODC_CLANG_FORMAT})
        set_tests_properties(header_format PROPERTIES SKIP_RETURN_CODE 77)
    endif()
endfunction()

# Rooms include what stands in front of them alone, and ask for the codes of ops that they are about; what is wrong would be seen.
function(modc_rooms_test)
    modc_test(header_rooms header ${MODC_PYTHON} tests/support/rooms.py --planted generator)
    modc_test(header_opcodes header ${MODC_PYTHON} tests/support/opcodes.py --planted generator)
endfunction()

# Every header compiles on its own. (Included: as a file of its own, clang says that its functions are unused.)
function(modc_header_tests)
    set(c ${CMAKE_C_COMPILER} ${MODC_WARNINGS} -Werror -fsyntax-only -x c /dev/null)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/generator/*.h)
    foreach(header ${headers})
        modc_test(header_${header} header ${c} -std=c11 -Igenerator -Iruntime -include ${header})
    endforeach()

    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/runtime/*.h)
    list(FILTER headers EXCLUDE REGEX cuda) # those need CUDA's own
    foreach(header ${headers})
        modc_test(header_${header}_c99 header ${c} -std=c99 -Wconversion -Iruntime -include ${header})
        modc_test(header_${header}_c11 header ${c} -std=c11 -Wconversion -Iruntime -include ${header})
        if(MODC_CXX)
            modc_test(header_${header}_c++17 header ${MODC_CXX} ${MODC_CXX_WARNINGS} -Werror -fsyntax-only
                      -x c++ /dev/null -std=c++17 -Iruntime -include ${header})
        endif()
    endforeach()
endfunction()

# tests/errors/<case>.yaml with <case>.err: what `modc check` says, byte for byte. tests/errors/command/<case>.txt: command
# lines with what they print. Every message of the generator is in one of them. Target update-errors.
function(modc_error_tests)
    if(NOT MODC_PYTHON)
        return()
    endif()
    set(support ${CMAKE_CURRENT_SOURCE_DIR}/support)
    file(GLOB transcripts CONFIGURE_DEPENDS errors/command/*.txt)
    set(text)
    if(MODC_SANITIZE)
        set(text --text)
    endif()
    modc_test(errors_specs errors ${MODC_PYTHON} ${support}/errors.py ${text} $<TARGET_FILE:modc>)
    foreach(transcript ${transcripts})
        get_filename_component(case ${transcript} NAME_WLE)
        if(MODC_SANITIZE AND case STREQUAL "limits_millions") # of many equal items, the first have the same code
            continue()
        endif()
        set(label errors)
        if(case STREQUAL "limits_millions")
            set(label long)
        endif()
        modc_transcript_test(errors_command_${case} ${label} ${transcript})
    endforeach()
    modc_test(errors_messages errors ${MODC_PYTHON} ${support}/messages.py)
    modc_test(errors_names errors ${MODC_PYTHON} ${support}/names.py $<TARGET_FILE:modc>)
    modc_test(errors_emitted_names errors ${MODC_PYTHON} ${support}/emitted.py $<TARGET_FILE:modc>)
    add_custom_target(update-errors VERBATIM WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                      COMMAND ${MODC_PYTHON} ${support}/errors.py --update $<TARGET_FILE:modc>
                      COMMAND ${MODC_PYTHON} ${support}/commands.py --update $<TARGET_FILE:modc> ${transcripts}
                      COMMAND ${MODC_PYTHON} ${support}/messages.py)
    add_dependencies(update-errors modc)
endfunction()

# The lines of a list of cases, without comments. Configures again when the list changes.
function(modc_cases file result)
    set(lines)
    if(EXISTS ${file})
        file(STRINGS ${file} lines REGEX "^[^#]")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    endif()
    set(${result} ${lines} PARENT_SCOPE)
endfunction()

# tests/golden/list.txt has lines `NAME SPEC OPTIONS...`; tests/golden/NAME/ has what `modc generate` writes for
# it, byte for byte. Target update-golden.
function(modc_golden_tests)
    set(script -DMODC=$<TARGET_FILE:modc> -DROOT=${PROJECT_SOURCE_DIR} -DDIR=${CMAKE_CURRENT_SOURCE_DIR}/golden
        -DWORK=${CMAKE_CURRENT_BINARY_DIR}/golden)
    modc_cases(${CMAKE_CURRENT_SOURCE_DIR}/golden/list.txt lines)
    foreach(line ${lines})
        string(REGEX MATCH "^[^ ]+" name ${line})
        modc_test(golden_${name} golden ${CMAKE_COMMAND} ${script} -DNAME=${name}
                  -P ${CMAKE_CURRENT_SOURCE_DIR}/support/golden.cmake)
    endforeach()
    modc_test(golden_complete golden ${CMAKE_COMMAND} ${script} -DCOMPLETE=ON
              -P ${CMAKE_CURRENT_SOURCE_DIR}/support/golden.cmake)
    add_custom_target(update-golden VERBATIM
                      COMMAND ${CMAKE_COMMAND} ${script} -DUPDATE=ON
                              -P ${CMAKE_CURRENT_SOURCE_DIR}/support/golden.cmake)
    add_dependencies(update-golden modc)
endfunction()

# tests/commands/<case>.txt: command lines with what they print, of all but faults. What terminals are shown; the schema
# of specs. Target update-commands.
function(modc_command_tests)
    if(NOT MODC_PYTHON)
        return()
    endif()
    set(commands ${MODC_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/support/commands.py)
    file(GLOB transcripts CONFIGURE_DEPENDS commands/*.txt)
    foreach(transcript ${transcripts})
        get_filename_component(case ${transcript} NAME_WLE)
        modc_transcript_test(commands_${case} commands ${transcript})
    endforeach()
    add_custom_target(update-commands VERBATIM WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                      COMMAND ${commands} --update $<TARGET_FILE:modc> ${transcripts}
                      COMMAND sh -c "\"$1\" schema >specs/modc.schema.json" sh $<TARGET_FILE:modc>)
    add_dependencies(update-commands modc)
    modc_test(commands_terminal commands ${MODC_PYTHON} tests/support/terminal.py $<TARGET_FILE:modc>)
    modc_test(commands_sarif commands ${MODC_PYTHON} tests/support/sarif.py $<TARGET_FILE:modc>)
    modc_find_python(MODC_SCHEMA_PYTHON jsonschema yaml)
    if(MODC_SCHEMA_PYTHON)
        modc_test(commands_schema commands ${MODC_SCHEMA_PYTHON} tests/support/schema.py $<TARGET_FILE:modc>)
    endif()
endfunction()

# modc_find_python(VARIABLE MODULES...): a Python that has them; else a warning and an empty variable.
function(modc_find_python variable)
    if(NOT ${variable})
        list(JOIN ARGN ", " modules)
        foreach(python ${MODC_PYTHON} python3 /usr/bin/python3)
            execute_process(COMMAND ${python} -c "import ${modules}" RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
            if(NOT missing)
                set(${variable} ${python} CACHE STRING "Python with ${modules}")
                return()
            endif()
        endforeach()
        message(WARNING "no python3 has ${modules}: some tests are missing")
    endif()
endfunction()

# tests/vectors/cases.txt: inputs and outputs of PyTorch through `modc run`; once more with sanitizers. Those of
# tests/language/ run but once, those of tests/layers/ with sanitizers alone.
function(modc_vector_tests)
    if(NOT MODC_PYTHON)
        message(WARNING "python3 is missing: no tests of numbers")
        return()
    endif()
    # Half of the compiler's time; what such a pointer reads, `address` sees, and the other cases have all checks.
    set(quick -fno-sanitize=pointer-overflow,signed-integer-overflow)
    set(strict "-Wall -Wextra -Wconversion -Werror") # what the optimiser finds
    modc_cases(${CMAKE_CURRENT_SOURCE_DIR}/vectors/cases.txt lines)
    foreach(line ${lines})
        string(REGEX MATCH "^[^ ]+" name ${line})
        set(command ${MODC_PYTHON} tests/oracle/vectors.py --modc $<TARGET_FILE:modc> --jobs 1 ${name})
        set(programs ${CMAKE_CURRENT_BINARY_DIR}/programs) # cases of one spec compile it once
        if(name MATCHES "^language_") # many models, of which each is for one sentence: compiled quickly, once
            modc_test(${name} language ${command})
            modc_compiles(${name} ${CMAKE_C_COMPILER} "CFLAGS=-O1")
            continue()
        endif()
        if(name MATCHES "^layers_") # many modules each
            modc_test(${name} layers ${command} --keep ${programs}/sanitize)
            set(checks "${MODC_CHECKS} ${quick}")
            if(line MATCHES " --dtype ") # the same text with another type
                set(checks -O0)
            endif()
            modc_compiles(${name} ${MODC_SANITIZER} "CFLAGS=${checks} -Wall -Wextra -Werror")
            modc_shares(${name} sanitize "${line}")
            continue()
        endif()
        modc_test(sanitize_${name} sanitize ${command} --keep ${programs}/sanitize)
        if(line MATCHES " --plan ") # tests/oracle/vectors.py sees to it that the algorithm is reached
            set_property(TEST sanitize_${name} APPEND PROPERTY LABELS forced)
        else()
            modc_test(vectors_${name} vectors ${command} --keep ${programs}/plain)
            modc_compiles(vectors_${name} ${CMAKE_C_COMPILER} "CFLAGS=-O2 -march=native ${strict}")
            modc_shares(vectors_${name} plain "${line}")
        endif()
        modc_compiles(sanitize_${name} ${MODC_SANITIZER} "CFLAGS=${MODC_CHECKS}")
        modc_shares(sanitize_${name} sanitize "${line}")
    endforeach()
endfunction()

# modc_cuda_vector_tests(LABEL EMULATE EVERY PARTS): the same on cuda, on the stand-in for a GPU: of every so many specs, in so many
# tests. A program is compiled as its text is, without much optimisation: most of it runs but once.
function(modc_cuda_vector_tests label emulate every parts)
    if(NOT MODC_PYTHON OR NOT MODC_CXX OR (label STREQUAL soak AND NOT MODC_SOAK))
        return()
    endif()
    math(EXPR last "${parts} - 1")
    foreach(part RANGE ${last})
        set(name cuda_${emulate}_${part})
        if(NOT label STREQUAL cuda)
            set(name ${label}_${name})
        endif()
        modc_test(${name} ${label} ${MODC_PYTHON} tests/oracle/vectors.py --modc $<TARGET_FILE:modc> --jobs 1
                  --emulate ${emulate} --part ${part}/${parts} --every ${every}
                  --keep ${CMAKE_CURRENT_BINARY_DIR}/programs/cuda_${emulate})
        set_tests_properties(${name} PROPERTIES TIMEOUT 3600)
        modc_compiles(${name} ${CMAKE_C_COMPILER} "CFLAGS=-O1 -fstack-protector-strong -Wall -Wextra -Werror"
                      "CXX=$<TARGET_FILE:modc_once> ${MODC_CXX}" "CXXFLAGS=-O1 -Wall -Wextra -Werror")
    endforeach()
endfunction()

# modc_gpu_test(NAME COMMAND...): with modc's own nvcc, if that is all there is.
function(modc_gpu_test name)
    modc_test(gpu_${name} gpu ${ARGN})
    set_tests_properties(gpu_${name} PROPERTIES TIMEOUT 3600 SKIP_RETURN_CODE 77 PROCESSORS 2)
    modc_compiles(gpu_${name} ${CMAKE_C_COMPILER} "CFLAGS=-O1")
    if(MODC_NVCC)
        set_property(TEST gpu_${name} APPEND PROPERTY ENVIRONMENT "NVCC=${MODC_NVCC}")
    endif()
endfunction()

# The label gpu: the vectors, the optimisers, calls from C, programs under compute-sanitizer; and, without a GPU, that these tests see
# what they are for.
function(modc_gpu_tests)
    if(NOT MODC_PYTHON)
        return()
    endif()
    if(TARGET modc_cuda_host AND MODC_CXX)
        modc_test(cuda_gpu_tests cuda tests/support/gpu_tests.sh $<TARGET_FILE:modc> $<TARGET_FILE:modc_cuda_host>
                  ${CMAKE_CURRENT_BINARY_DIR}/cuda_gpu_tests ${MODC_PYTHON})
        modc_compiles(cuda_gpu_tests ${CMAKE_C_COMPILER})
        modc_soak_test(cuda_gpu_tests tests/support/gpu_tests.sh $<TARGET_FILE:modc> $<TARGET_FILE:modc_cuda_host>
                       ${CMAKE_CURRENT_BINARY_DIR}/soak_gpu_tests ${MODC_PYTHON} all)
    endif()
    if(NOT MODC_GPU)
        return()
    endif()
    set(programs ${CMAKE_CURRENT_BINARY_DIR}/programs/gpu)
    set(parts 8)
    foreach(part RANGE 1 ${parts})
        math(EXPR part "${part} - 1")
        modc_gpu_test(vectors_${part} ${MODC_PYTHON} tests/oracle/vectors.py --modc $<TARGET_FILE:modc> --gpu --jobs 2
                      --part ${part}/${parts} --every ${MODC_GPU_EVERY} --keep ${programs})
    endforeach()
    modc_gpu_test(training ${MODC_PYTHON} tests/oracle/cuda_training.py --modc $<TARGET_FILE:modc> --gpu --jobs 2
                  --every ${MODC_GPU_EVERY} --work ${CMAKE_CURRENT_BINARY_DIR}/gpu_training)
    modc_gpu_test(calls ${MODC_PYTHON} tests/oracle/gpu.py --modc $<TARGET_FILE:modc> -- tests/support/api.sh $<TARGET_FILE:modc>
                  ${CMAKE_CURRENT_BINARY_DIR}/api/gpu_calls tests/api/cuda_failing.c "tests/specs/trained.yaml --device cuda")
    modc_gpu_test(writing ${MODC_PYTHON} tests/oracle/gpu.py --modc $<TARGET_FILE:modc> -- tests/support/api.sh
                  $<TARGET_FILE:modc> ${CMAKE_CURRENT_BINARY_DIR}/api/gpu_writing tests/api/cuda_writing.c
                  tests/api/cuda_writing.yaml)
    math(EXPR every "${MODC_GPU_EVERY} * 8") # a tool takes many times as long as a program
    foreach(tool memcheck racecheck initcheck synccheck)
        modc_gpu_test(${tool} ${MODC_PYTHON} tests/oracle/gpu_sanitize.py --modc $<TARGET_FILE:modc> --tool ${tool} --jobs 2
                      --every ${every} --keep ${programs})
    endforeach()
endfunction()

# modc_nvcc_tests(LABEL EVERY PARTS): what nvcc makes of the kernels of every so many specs of those cases, in so many tests.
function(modc_nvcc_tests label every parts)
    if(NOT MODC_PYTHON OR NOT MODC_NVCC OR (label STREQUAL soak AND NOT MODC_SOAK))
        return()
    endif()
    math(EXPR last "${parts} - 1")
    foreach(part RANGE ${last})
        set(name cuda_nvcc_${part})
        if(NOT label STREQUAL cuda)
            set(name ${label}_${name})
        endif()
        modc_test(${name} ${label} ${MODC_PYTHON} tests/support/nvcc.py ${MODC_NVCC} sm_90 --modc $<TARGET_FILE:modc>
                  --part ${part}/${parts} --every ${every})
        set_tests_properties(${name} PROPERTIES TIMEOUT 3600)
    endforeach()
endfunction()

# Optimisers, clipping and averages there, against a processor: every so many of tests/optim/cases.txt.
function(modc_cuda_training_tests label every)
    if(NOT MODC_PYTHON OR NOT MODC_CXX OR (label STREQUAL soak AND NOT MODC_SOAK))
        return()
    endif()
    set(name cuda_training)
    if(NOT label STREQUAL cuda)
        set(name ${label}_${name})
    endif()
    modc_test(${name} ${label} ${MODC_PYTHON} tests/oracle/cuda_training.py --modc $<TARGET_FILE:modc> --every ${every}
              --work ${CMAKE_CURRENT_BINARY_DIR}/${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 3600)
    modc_compiles(${name} ${CMAKE_C_COMPILER} "CFLAGS=-O1" "CXX=$<TARGET_FILE:modc_once> ${MODC_CXX}" "CXXFLAGS=-O1")
endfunction()

# The workspaces of every spec of specs/ and tests/specs/, with and without backward; and that the check sees a buffer that was
# moved.
function(modc_planner_tests)
    if(NOT MODC_PYTHON)
        return()
    endif()
    file(GLOB_RECURSE specs CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
         ${PROJECT_SOURCE_DIR}/specs/*.yaml ${PROJECT_SOURCE_DIR}/tests/specs/*.yaml)
    foreach(spec ${specs})
        modc_test(planner_${spec} planner ${MODC_PYTHON} tests/support/bound.py $<TARGET_FILE:modc> ${spec})
    endforeach()
    # have no backward of their own, as those that write
    list(REMOVE_ITEM specs tests/specs/fused.yaml tests/specs/storage_int8.yaml tests/specs/dynamic.yaml
         tests/specs/dynamic_chip.yaml specs/digits/cnn_int8.yaml)
    foreach(spec ${specs})
        file(STRINGS ${PROJECT_SOURCE_DIR}/${spec} writes REGEX "^generation:")
        if(writes)
            list(REMOVE_ITEM specs ${spec})
        endif()
    endforeach()
    foreach(spec ${specs} examples/train_digits/learner.yaml tests/optim/model.yaml)
        modc_test(planner_backward_${spec} planner ${MODC_PYTHON} tests/support/bound.py $<TARGET_FILE:modc> ${spec} --backward)
    endforeach()
    foreach(spec specs/cartpole/policy.yaml tests/specs/blocks_bare.yaml tests/specs/stream.yaml tests/optim/model.yaml)
        modc_test(planner_faults_${spec} planner
                  ${MODC_PYTHON} tests/support/bound.py --faults $<TARGET_FILE:modc> ${spec})
    endforeach()
endfunction()

# One call of the system after the other fails: those that allocate, those that write; and one `if` after the other that gives up.
function(modc_failing_tests)
    set(CMAKE_REQUIRED_FLAGS "")
    check_c_source_compiles("extern void *__libc_memalign(unsigned long, unsigned long);
                             int main(void) { return !__libc_memalign(64, 64); }" MODC_HAS_GLIBC_MEMORY)
    if(NOT MODC_PYTHON OR NOT MODC_HAS_GLIBC_MEMORY OR MODC_SANITIZE) # sanitizers have a malloc of their own
        return()
    endif()
    add_library(failing MODULE support/failing.c)
    set_target_properties(failing PROPERTIES C_EXTENSIONS ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    target_link_libraries(failing PRIVATE ${CMAKE_DL_LIBS})
    modc_compile(failing)
    set(script ${MODC_PYTHON} tests/support/failing.py $<TARGET_FILE:modc> $<TARGET_FILE:failing>)
    modc_test(failing_memory failing ${script} memory 7)
    modc_test(failing_files failing ${script} files 7)
    modc_soak_test(failing_files ${script} files)
    modc_compiles(failing_files ${CMAKE_C_COMPILER} "CFLAGS=-O1")
    set(yaml ${modc_yaml})
    if(TARGET ${modc_yaml})
        set(yaml ${YAML_LINK_LIBRARIES})
    endif()
    set(sites ${MODC_PYTHON} tests/support/sites.py ${PROJECT_BINARY_DIR} "${yaml}"
        "${CMAKE_C_COMPILER_LAUNCHER} ${CMAKE_C_COMPILER}")
    modc_test(failing_sites failing ${sites} 8)
    if(MODC_LONG_TESTS)
        modc_test(long_failing_memory long ${script} memory)
        modc_test(long_failing_sites long ${sites})
    endif()
endfunction()

# What fuzzing has known or found, once more: the corpus of a target of tests/fuzz, and tests/regression/*/*.TARGET.
function(modc_replay_test target)
    file(GLOB inputs CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
         ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${target}.tar ${PROJECT_SOURCE_DIR}/tests/regression/*/*.${target})
    modc_test(replay_${target} unit replay_${target} ${inputs})
endfunction()

# Some seconds of each target of tests/fuzz with clang's libFuzzer, where it is there.
function(modc_fuzz_tests)
    if(NOT MODC_CLANG)
        return()
    endif()
    set(CMAKE_REQUIRED_QUIET ON)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/libfuzzer.c
         "#include <stddef.h>\nint LLVMFuzzerTestOneInput(const char *d, size_t n) { return (void)d, (void)n, 0; }\n")
    execute_process(COMMAND ${MODC_CLANG} -fsanitize=fuzzer,address,undefined libfuzzer.c -o libfuzzer
                    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed)
        message(WARNING "clang has no libFuzzer: no fuzzing")
        return()
    endif()
    modc_test(fuzz_build fuzz tests/support/fuzz.sh build)
    set_tests_properties(fuzz_build PROPERTIES FIXTURES_SETUP fuzz_targets PROCESSORS 2
                         RESOURCE_LOCK ${PROJECT_BINARY_DIR}/asan)
    foreach(target spec expr compile safetensors tokenizer template)
        modc_test(fuzz_${target} fuzz tests/support/fuzz.sh ${target} 5)
        modc_soak_test(fuzz_${target} tests/support/fuzz.sh ${target} 7200)
        set_tests_properties(fuzz_${target} PROPERTIES FIXTURES_REQUIRED fuzz_targets)
        if(TEST soak_fuzz_${target})
            set_tests_properties(soak_fuzz_${target} PROPERTIES FIXTURES_REQUIRED fuzz_targets)
        endif()
    endforeach()
endfunction()

# The same bytes wherever modc runs, and by a modc that another compiler built: the one of the preset clang or asan where
# it is there, else one that is built for it (half a minute).
function(modc_determinism_tests)
    set(script tests/support/determinism.sh $<TARGET_FILE:modc>)
    set(other ${PROJECT_BINARY_DIR}/clang)
    set(compiler ${MODC_CLANG})
    if(CMAKE_C_COMPILER_ID MATCHES "Clang")
        set(other ${PROJECT_BINARY_DIR}/other)
        find_program(MODC_GCC NAMES gcc DOC "Other compiler to build modc with")
        set(compiler ${MODC_GCC})
    else()
        foreach(built clang asan)
            set(other ${PROJECT_BINARY_DIR}/${built})
            if(EXISTS ${other}/CMakeCache.txt)
                break()
            endif()
            set(other ${PROJECT_BINARY_DIR}/other)
        endforeach()
    endif()
    if(compiler)
        modc_test(determinism_build determinism tests/support/other_modc.sh ${CMAKE_COMMAND} ${other} ${compiler})
        set_tests_properties(determinism_build PROPERTIES FIXTURES_SETUP other_modc PROCESSORS 2
                             RESOURCE_LOCK ${other})
    endif()
    file(GLOB_RECURSE specs CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
         ${PROJECT_SOURCE_DIR}/specs/*.yaml ${PROJECT_SOURCE_DIR}/tests/specs/*.yaml)
    foreach(spec ${specs})
        set(work ${CMAKE_CURRENT_BINARY_DIR}/determinism/${spec})
        modc_test(determinism_${spec} determinism ${script} ${spec} ${work})
        if(compiler)
            modc_test(determinism_other_${spec} determinism ${script} ${spec} ${work}_other ${other}/modc)
            set_tests_properties(determinism_other_${spec} PROPERTIES FIXTURES_REQUIRED other_modc)
        endif()
    endforeach()
endfunction()

# What is emitted for every spec of specs/ and tests/specs/ compiles without a warning: C99 with every compiler that is
# here, for the host and for other machines; its header as C++ too. Those of tests/layers/ by one compiler.
function(modc_compile_tests)
    set(compilers ${CMAKE_C_COMPILER})
    foreach(compiler ${MODC_CLANG} ${MODC_AARCH64} ${MODC_ARM})
        if(compiler)
            list(APPEND compilers ${compiler})
        endif()
    endforeach()
    list(REMOVE_DUPLICATES compilers)
    list(JOIN compilers "," compilers) # a list would be split on its way
    list(JOIN MODC_WARNINGS "," warnings)
    list(JOIN MODC_CXX_WARNINGS "," cxx_warnings)
    file(GLOB_RECURSE specs CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/specs/*.yaml
         ${PROJECT_SOURCE_DIR}/tests/specs/*.yaml ${PROJECT_SOURCE_DIR}/tests/layers/*.yaml)
    list(FILTER specs EXCLUDE REGEX "^specs/networks/") # large, of kernels that others have: modc_long_tests
    modc_cases(${CMAKE_CURRENT_SOURCE_DIR}/vectors/cases.txt cases)
    list(FILTER cases EXCLUDE REGEX "^language_| --plan ")
    foreach(spec ${specs})
        set(with ${compilers})
        set(flags)
        set(optimized -O2)
        if(spec MATCHES "^tests/layers/")
            set(with ${CMAKE_C_COMPILER})
            set(flags -fsyntax-only)
        endif()
        if(MODC_PYTHON AND cases MATCHES "(^|;)[^ ]+ ${spec} ") # modc_vector_tests
            set(optimized)
        endif()
        modc_test(compile_${spec} compile ${CMAKE_COMMAND} -DMODC=$<TARGET_FILE:modc> -DSPEC=${spec}
                  -DROOT=${PROJECT_SOURCE_DIR} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/compile/${spec}
                  -DCOMPILERS=${with} -DFLAGS=${flags} -DOPTIMIZED=${optimized} -DCXX=${MODC_CXX} -DWARNINGS=${warnings}
                  -DCXX_WARNINGS=${cxx_warnings} -P ${CMAKE_CURRENT_SOURCE_DIR}/support/compile.cmake)
    endforeach()
endfunction()

# As MSVC would read it; one program, since it takes seconds.
function(modc_msvc_test)
    if(MODC_CLANG AND NOT MODC_SANITIZE)
        modc_test(compile_msvc compile tests/support/msvc.sh $<TARGET_FILE:modc> ${MODC_CLANG} ${CMAKE_CURRENT_BINARY_DIR}/msvc)
    endif()
endfunction()

# Names that are something else in C, or in what is emitted: as what of a spec they may be.
function(modc_names_tests)
    if(NOT MODC_PYTHON OR NOT MODC_CLANG OR MODC_SANITIZE) # what is emitted is the same in every build
        return()
    endif()
    set(compilers ${CMAKE_C_COMPILER} ${MODC_CLANG})
    foreach(compiler ${MODC_AARCH64} ${MODC_ARM})
        if(compiler)
            list(APPEND compilers ${compiler})
        endif()
    endforeach()
    list(REMOVE_DUPLICATES compilers)
    list(JOIN compilers "," compilers)
    list(JOIN MODC_WARNINGS "," warnings)
    list(JOIN MODC_CXX_WARNINGS "," cxx_warnings)
    foreach(kind modules parameters state inputs locals outputs sizes classes arguments entries templates models reserved)
        modc_test(names_${kind} compile ${MODC_PYTHON} tests/support/c_names.py $<TARGET_FILE:modc>
                  ${CMAKE_CURRENT_BINARY_DIR}/names/${kind} ${kind} ${compilers} "${MODC_CXX}" ${warnings} ${cxx_warnings})
    endforeach()
endfunction()

# Specs that are nearly right (tests/support/mutate.py).
function(modc_mutants_test)
    if(NOT MODC_PYTHON OR NOT MODC_CLANG OR MODC_SANITIZE) # what is emitted is the same in every build
        return()
    endif()
    set(mutants ${MODC_PYTHON} tests/support/mutate.py $<TARGET_FILE:modc>)
    set(options --compilers ${CMAKE_C_COMPILER},${MODC_CLANG} --cxx "${MODC_CXX}")
    modc_test(mutants compile ${mutants} ${CMAKE_CURRENT_BINARY_DIR}/mutants ${options} --count 60)
    modc_soak_test(mutants ${mutants} ${CMAKE_CURRENT_BINARY_DIR}/soak_mutants ${options} --count 5000 --run 20)
endfunction()

# All algorithms in one model.
function(modc_algorithms_test)
    if(MODC_PYTHON)
        list(JOIN MODC_WARNINGS "," warnings)
        modc_test(compile_algorithms compile ${MODC_PYTHON} tests/support/algorithms.py $<TARGET_FILE:modc>
                  ${CMAKE_CURRENT_BINARY_DIR}/algorithms ${CMAKE_C_COMPILER} ${warnings})
    endif()
endfunction()

# modc_api_test(NAME PROGRAM SPECS... [ENV NAME=VALUE...]): a program of tests/api with what is emitted for the specs.
function(modc_api_test name program)
    cmake_parse_arguments(PARSE_ARGV 2 api "" "" "ENV")
    modc_test(api_${name} api tests/support/api.sh $<TARGET_FILE:modc> ${CMAKE_CURRENT_BINARY_DIR}/api/${name}
              tests/api/${program} ${api_UNPARSED_ARGUMENTS})
    modc_compiles(api_${name} "${CMAKE_C_COMPILER}" "CXX=${MODC_CXX}" ${api_ENV})
endfunction()

# modc_elementwise_test(NAME STRIDE ENV...): every elementwise function against libm, on a sample of all floats (1: all), for the
# instruction sets that this machine has and without vectors.
function(modc_elementwise_test name stride)
    set(spec tests/api/elementwise.yaml)
    modc_api_test(elementwise_${name} elementwise.c "${spec} --dispatch" "${spec} --model scalar"
                  ENV "MODC_STRIDE=${stride}" "FLAGS_scalar=-DMODC_LANES=1" ${ARGN})
endfunction()

function(modc_elementwise_tests)
    set(fast "FLAGS=-O2")
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # others warn of loops that do not become vectors
        list(APPEND fast "FLAGS_program=-O3 -march=native -fopenmp -fno-math-errno -fno-trapping-math")
    endif()
    modc_elementwise_test(sample 4093 ${fast})
    if(MODC_LONG_TESTS)
        modc_elementwise_test(long 61 ${fast})
        set_property(TEST api_elementwise_long PROPERTY LABELS long)
    endif()
    if(MODC_SOAK)
        modc_elementwise_test(all 1 ${fast})
        set_tests_properties(api_elementwise_all PROPERTIES LABELS soak TIMEOUT 36000)
    endif()
    if(MODC_AARCH64 AND MODC_QEMU)
        modc_elementwise_test(aarch64 65537 "FLAGS=-static" "CC=$<TARGET_FILE:modc_once> ${MODC_AARCH64}"
                              "RUNNER=${MODC_QEMU} -L /usr/aarch64-linux-gnu")
    endif()
    modc_elementwise_test(checked 65537 "CC=$<TARGET_FILE:modc_once> ${MODC_SANITIZER}" "FLAGS=${MODC_CHECKS}")
endfunction()

# The API of emitted code.
function(modc_api_tests)
    set(checked "CC=$<TARGET_FILE:modc_once> ${MODC_SANITIZER}" "FLAGS=${MODC_CHECKS}")
    set(races "-O0 -fsanitize=thread")
    set(raced "CC=$<TARGET_FILE:modc_once> ${MODC_SANITIZER}")
    set(cnn specs/digits/cnn.yaml)
    set(policy specs/cartpole/policy.yaml)
    if(CMOCKA_FOUND)
        modc_api_test(statuses statuses.c ${cnn} ${policy} tests/specs/stream.yaml ENV "LIBS=-lcmocka")
    endif()
    if(MODC_CXX)
        modc_api_test(cuda cuda.c tests/api/cuda_kept.yaml tests/api/cuda_fused.yaml tests/api/cuda_scaled.yaml
                      tests/api/cuda_unscaled.yaml)
        modc_api_test(cuda_failing cuda_failing.c "tests/specs/trained.yaml --device cuda"
                      ENV "RUNNER=tests/support/failing_calls.sh")
        modc_api_test(cuda_writing cuda_writing.c tests/api/cuda_writing.yaml)
        if(MODC_LONG_TESTS)
            modc_api_test(cuda_generation generation.c "tests/api/generation.yaml --device cuda"
                          "tests/api/generation_recurrent.yaml --device cuda" "tests/api/generation_narrow.yaml --device cuda"
                          ENV "FLAGS_kernels=-g -fsanitize=thread,alignment")
            set_property(TEST api_cuda_generation PROPERTY LABELS long)
        endif()
    endif()
    modc_api_test(heights heights.c tests/api/heights.yaml tests/api/heights_narrow.yaml
                  tests/api/heights_int8.yaml "tests/api/heights_int4.yaml --plan split=3"
                  tests/api/heights_both8.yaml "tests/api/heights_both4.yaml --plan split=3"
                  "tests/api/heights_split.yaml --plan split=3"
                  "tests/api/heights_split.yaml --model heights_rows --plan split=3 --set rows=1024")
    modc_api_test(threads threads.c ${policy})
    set(CMAKE_REQUIRED_FLAGS "-fsanitize=thread")
    check_c_source_runs("int main(void) { return 0; }" MODC_RUNS_TSAN)
    unset(CMAKE_REQUIRED_FLAGS)
    if(MODC_RUNS_TSAN)
        modc_api_test(threads_tsan threads.c ${policy} ENV ${raced} "FLAGS=-DCALLS=12 ${races}")
    endif()
    set(slices tests/specs/slices.yaml)
    modc_api_test(slices slices.c ${slices} specs/digits/mlp.yaml ENV "FLAGS=-DSLICES=3")
    modc_api_test(slices_forced slices.c "${slices} --plan split=5" specs/digits/mlp.yaml
                  ENV ${checked} "FLAGS=-DSLICES=5 ${MODC_CHECKS}")
    modc_api_test(slices_dispatch slices.c "${slices} --dispatch" specs/digits/mlp.yaml ENV "FLAGS=-DSLICES=3")
    if(MODC_RUNS_TSAN)
        modc_api_test(slices_tsan slices.c "${slices} --plan split=3" specs/digits/mlp.yaml
                      ENV ${raced} "FLAGS=-DSLICES=3 ${races}")
    endif()
    if(MODC_RUNS_TSAN AND CMOCKA_FOUND)
        modc_api_test(pool_tsan ../unit/test_threads.c ENV "FLAGS=${races}" "LIBS=-lcmocka")
    endif()
    modc_api_test(denormals denormals.c "tests/specs/denormals.yaml --plan split=2"
                  "tests/specs/denormals_flush.yaml --plan split=2")
    set(offsets_specs cnn64.yaml gather.yaml norms.yaml slices.yaml storage.yaml tensors.yaml winograd.yaml)
    list(TRANSFORM offsets_specs PREPEND tests/specs/)
    modc_api_test(offsets_sanitized offsets.c ${cnn} ${offsets_specs} ENV ${checked})
    modc_api_test(embedded embedded.c "${cnn} --weights specs/digits/weights_cnn.safetensors"
                  "${policy} --weights specs/cartpole/weights.safetensors"
                  "tests/specs/tables.yaml --dtype float32 --weights build/vectors/tables_3/weights.safetensors"
                  "tests/generation/llama.yaml --weights tests/generation/llama.safetensors")
    set(folded "tests/layers/folded.yaml --backward")
    set(rows "tests/specs/blocks.yaml --set dim=16 --backward")
    modc_api_test(embedded_backward embedded_backward.c "${folded}" "${rows} --model rows"
                  "${folded} --model folded_in --weights build/vectors/layers_folded/weights.safetensors"
                  "${rows} --model rows_in --weights build/vectors/blocks16_32/weights.safetensors" ENV ${checked})
    set(edges "--weights build/vectors/storage_edges/weights.safetensors")
    modc_api_test(storage storage.c "tests/specs/storage_edges.yaml ${edges}" "tests/api/storage_bare.yaml ${edges}")
    set(coded "tests/specs/storage_coded.yaml --weights build/vectors/storage_coded_few_50/weights.safetensors")
    modc_api_test(storage_coded storage_coded.c "${coded}" ENV ${checked})
    modc_api_test(coded coded.c tests/api/coded.yaml ENV ${checked})
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        modc_api_test(coded_plain coded.c tests/api/coded.yaml ENV "FLAGS=-O1 -DMODC_LANES=1")
        modc_api_test(coded_ssse3 coded.c tests/api/coded.yaml ENV "FLAGS=-O1 -mssse3 -DMODC_LANES=4")
        modc_api_test(coded_avx2 coded.c tests/api/coded.yaml ENV "FLAGS=-O1 -mavx2 -mfma -DMODC_LANES=8")
    endif()
    if(MODC_AARCH64 AND MODC_QEMU)
        modc_api_test(coded_aarch64 coded.c tests/api/coded.yaml
                      ENV "FLAGS=-O1 -static" "CC=$<TARGET_FILE:modc_once> ${MODC_AARCH64}" "RUNNER=${MODC_QEMU} -L /usr/aarch64-linux-gnu")
    endif()
    set(digits "--weights specs/digits/weights_mlp.safetensors")
    modc_api_test(storage_scaled storage_scaled.c "specs/digits/mlp.yaml ${digits}" "tests/api/storage_int8.yaml ${digits}"
                  "tests/api/storage_scaled.yaml ${digits}" "tests/api/dynamic8.yaml ${digits}" "tests/api/dynamic4.yaml ${digits}")
    set(narrow ${CMAKE_CURRENT_BINARY_DIR}/api/storage_loaded/narrow.safetensors)
    modc_api_test(storage_loaded storage_loaded.c "tests/specs/dynamic.yaml --model loaded"
                  "tests/specs/dynamic.yaml --model inside --weights ${narrow}" tests/api/storage_plain.yaml
                  ENV ${checked} QUANTIZED=tests/specs/dynamic.yaml "FLAGS_program=-DNARROW=\"${narrow}\"")
    modc_api_test(tied tied.c "tests/specs/tied.yaml --weights build/vectors/tied_9/state.safetensors")
    modc_api_test(dtypes dtypes.c "tests/specs/dtypes.yaml --weights build/vectors/dtypes_5/weights.safetensors"
                  tests/specs/tied_bare.yaml ENV ${checked})
    modc_api_test(invariant invariant.c tests/api/invariant.yaml)
    modc_api_test(invariant_int4 invariant.c tests/api/invariant_int4.yaml)
    modc_api_test(sizes sizes.c tests/specs/reach.yaml ENV ${checked})
    modc_api_test(drops drops.c tests/specs/drops.yaml ENV ${checked})
    modc_api_test(regions regions.c tests/specs/regions.yaml ENV ${checked})
    modc_api_test(indices indices.c tests/specs/gather.yaml ENV ${checked})
    modc_api_test(gradients gradients.c tests/api/gradients.yaml ENV ${checked})
    modc_api_test(hooks hooks.c tests/specs/hooked.yaml tests/api/bare.yaml ENV ${checked})
    set(steps "tests/api/steps.yaml --plan split=2" tests/api/steps_other.yaml)
    modc_api_test(steps_sanitized steps.c ${steps} ENV ${checked})
    if(MODC_RUNS_TSAN)
        modc_api_test(steps_tsan steps.c ${steps} ENV ${raced} "FLAGS=-DRACES_ALONE=1 ${races}")
    endif()
    modc_api_test(extern extern.c tests/api/extern.yaml tests/api/extern_plain.yaml ENV ${checked})
    modc_api_test(bags bags.c tests/api/bags.yaml ENV ${checked})
    modc_api_test(rolled rolled.c tests/api/rolled.yaml ENV ${checked})
    modc_api_test(rolled_backward rolled.c "tests/api/rolled.yaml --backward" ENV ${checked})
    modc_api_test(truth truth.c tests/api/truth.yaml ENV ${checked})
    set(stack tests/api/stack.yaml)
    modc_api_test(stack stack.c "${stack} --plan conv=conv_winograd4 --model four"
                  "${stack} --plan conv=conv_winograd2 --model two" "${stack} --plan conv=conv_direct --model direct"
                  "${stack} --model chosen" ENV "FLAGS=-O2 -march=native")
    modc_api_test(variance variance.c tests/api/variance.yaml ENV "FLAGS=-O2 -march=native")
    modc_api_test(variance_checked variance.c tests/api/variance.yaml ENV ${checked})
    modc_api_test(division division.c tests/api/division.yaml ENV ${checked})
    modc_api_test(tokenizer tokenizer.c tests/specs/tokenizer.yaml ENV ${checked})
    modc_api_test(template template.c tests/specs/template.yaml ENV ${checked})
    modc_api_test(grammar grammar.c tests/api/grammar.yaml tests/api/grammar_words.yaml ENV ${checked})
    modc_api_test(generation generation.c tests/api/generation.yaml tests/api/generation_recurrent.yaml
                  tests/api/generation_narrow.yaml ENV ${checked})
    modc_api_test(rollout rollout.c tests/specs/rollout.yaml tests/specs/rollout_agents.yaml ENV ${checked})
    set(queue tests/api/queue.yaml
        "specs/networks/mamba.yaml --set dim=16 --set layers=1 --set vocabulary=64 --set context=32")
    modc_api_test(queue queue.c ${queue})
    modc_api_test(queue_checked queue.c ${queue} ENV ${checked})
    if(MODC_RUNS_TSAN)
        modc_api_test(queue_tsan queue.c ${queue} ENV ${raced} "FLAGS=${races}")
    endif()
    modc_api_test(targets targets.c tests/api/targets.yaml ENV ${checked})
    if(MODC_PYTHON AND NOT MODC_SANITIZE)
        modc_test(api_weights api ${MODC_PYTHON} tests/support/weights.py $<TARGET_FILE:modc>)
        set_property(TEST api_weights PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
    endif()
    modc_api_test(dlopen dlopen.c ${policy} ENV "SHARED=1")
    if(MODC_CXX)
        modc_api_test(cpp cpp.cc ${cnn} ${policy})
    endif()
    # The flags of instruction sets come behind those that all files have.
    set(models "${policy} --dispatch" "${cnn} --dispatch" "tests/api/bytes.yaml --dispatch" "${policy} --model plain")
    modc_api_test(dispatch dispatch.c ${models} ENV "FLAGS=-march=native")
    modc_api_test(dispatch_lto dispatch.c ${models} ENV "FLAGS=-march=native -flto")
    modc_api_test(dispatch_checked dispatch.c ${models} ENV ${checked})
    if(MODC_CLANG)
        modc_api_test(dispatch_clang dispatch.c ${models} ENV "FLAGS=-march=native" "CC=$<TARGET_FILE:modc_once> ${MODC_CLANG}")
    endif()
    if(MODC_AARCH64 AND MODC_QEMU)
        modc_api_test(dispatch_aarch64 dispatch.c ${models} ENV "FLAGS=-static" "CC=$<TARGET_FILE:modc_once> ${MODC_AARCH64}"
                      "RUNNER=${MODC_QEMU} -L /usr/aarch64-linux-gnu")
    endif()
endfunction()

# modc as it is installed, away from where it was built: each folder of examples/ by the commands of its README.
function(modc_package_tests)
    set(installed ${CMAKE_CURRENT_BINARY_DIR}/installed)
    modc_test(package_install package tests/support/install.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${installed})
    set_tests_properties(package_install PROPERTIES FIXTURES_SETUP installed)
    find_program(MODC_NINJA NAMES ninja DOC "Second build tool for tests of the CMake package")
    find_program(MODC_MESON NAMES meson DOC "Builds an example")
    set(generators "Unix Makefiles")
    if(MODC_NINJA)
        list(APPEND generators Ninja)
    endif()
    foreach(generator ${generators})
        modc_test("package_use_${generator}" package tests/support/use.sh ${CMAKE_COMMAND} ${installed}/modc
                  "${CMAKE_CURRENT_BINARY_DIR}/use/${generator}") # a folder with a space in its name
        set_tests_properties("package_use_${generator}" PROPERTIES FIXTURES_REQUIRED installed)
        modc_builds("package_use_${generator}" "CMAKE_GENERATOR=${generator}")
    endforeach()
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
        find_program(MODC_QEMU_X86_64 NAMES qemu-x86_64 DOC "Emulates machines with fewer instructions")
        modc_test(package_dispatch package tests/support/dispatch.sh ${CMAKE_COMMAND} ${installed}/modc
                  ${CMAKE_CURRENT_BINARY_DIR}/dispatch)
        set_tests_properties(package_dispatch PROPERTIES FIXTURES_REQUIRED installed)
        modc_builds(package_dispatch "CMAKE_GENERATOR=${generator}"
                    "QEMU=$<$<BOOL:${MODC_QEMU_X86_64}>:${MODC_QEMU_X86_64}>")
    endif()
    modc_test(package_subproject package tests/support/subproject.sh ${CMAKE_COMMAND} $<TARGET_FILE:modc>
              ${CMAKE_CURRENT_BINARY_DIR}/subproject)
    modc_builds(package_subproject "CMAKE_GENERATOR=${generator}")

    if(MODC_NVCC)
        modc_test(package_cuda package tests/support/cuda_build.sh ${CMAKE_COMMAND} ${installed}/modc
                  ${CMAKE_CURRENT_BINARY_DIR}/cuda_build ${MODC_NVCC})
        set_tests_properties(package_cuda PROPERTIES FIXTURES_REQUIRED installed)
        modc_builds(package_cuda "CMAKE_GENERATOR=${generator}")
    endif()

    find_program(MODC_SHLIBDEPS NAMES dpkg-shlibdeps DOC "Finds what a Debian package depends on")
    if(MODC_SHLIBDEPS)
        modc_test(package_deb package tests/support/deb.sh ${CMAKE_CPACK_COMMAND} ${PROJECT_BINARY_DIR}
                  ${CMAKE_CURRENT_BINARY_DIR}/deb)
        modc_compiles(package_deb ${CMAKE_C_COMPILER})
    endif()
    foreach(python ${MODC_PYTHON} python3)
        execute_process(COMMAND ${python} -c "import ensurepip, venv" RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
        if(status EQUAL 0)
            modc_test(package_wheel package tests/support/wheel.sh ${python} ${CMAKE_CURRENT_BINARY_DIR}/wheel)
            modc_builds(package_wheel "CMAKE_GENERATOR=${generator}")
            break()
        endif()
    endforeach()
    if(NOT TEST package_wheel)
        message(WARNING "no Python makes virtual environments (python3-venv): no test of the wheel")
    endif()

    # CMake takes the flags of releases from here: examples are built as their READMEs say, but soon and strictly.
    set(quick ${CMAKE_CURRENT_BINARY_DIR}/quick.cmake)
    list(JOIN MODC_WARNINGS " " c)
    list(JOIN MODC_CXX_WARNINGS " " cxx)
    file(CONFIGURE OUTPUT ${quick} CONTENT "
set(CMAKE_C_FLAGS_RELEASE \"-O1 -Werror -Wconversion @c@\" CACHE STRING \"\")
set(CMAKE_CXX_FLAGS_RELEASE \"-O1 -Werror @cxx@\" CACHE STRING \"\")
" @ONLY)
    find_path(MODC_MICROHTTPD microhttpd.h DOC "HTTP of an example")
    find_path(MODC_JANSSON jansson.h DOC "JSON of an example")
    file(GLOB pages CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/examples/*/README.md)
    foreach(page ${pages})
        cmake_path(GET page PARENT_PATH folder)
        cmake_path(GET folder FILENAME name)
        file(GLOB cxx ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
        file(STRINGS ${PROJECT_SOURCE_DIR}/${page} board REGEX "^qemu-system-arm")
        if(NOT MODC_PYTHON OR ((cxx OR name MATCHES "^cuda") AND NOT MODC_CXX) OR
           (EXISTS ${PROJECT_SOURCE_DIR}/${folder}/meson.build AND NOT MODC_MESON) OR
           (board AND NOT (MODC_ARM AND MODC_QEMU_BOARD)) OR
           (name STREQUAL "complete_service" AND NOT (MODC_MICROHTTPD AND MODC_JANSSON)))
            continue()
        endif()
        list(POP_FRONT generators generator) # each in turn
        list(APPEND generators ${generator})
        modc_test(examples_${name} examples ${MODC_PYTHON} tests/support/docs.py ${installed}/modc/bin/modc
                  ${CMAKE_CURRENT_BINARY_DIR}/examples/${name} ${page})
        set_tests_properties(examples_${name} PROPERTIES FIXTURES_REQUIRED installed)
        set(environment "CXX=${MODC_CXX}" "CFLAGS=-O1 -Werror -Wconversion ${c}" "CMAKE_PREFIX_PATH=${installed}/modc"
            "CMAKE_GENERATOR=${generator}" "CMAKE_TOOLCHAIN_FILE=${quick}"
            "PKG_CONFIG_PATH=${installed}/modc/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
        if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
            modc_builds(examples_${name} ${environment})
        else()
            modc_compiles(examples_${name} ${CMAKE_C_COMPILER} ${environment})
        endif()
    endforeach()
endfunction()

# The Python package, out of the checkout. What it compiles is the same in every build.
function(modc_python_tests)
    if(NOT MODC_PYTHON OR MODC_SANITIZE)
        return()
    endif()
    file(GLOB files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests/python/test_*.py)
    foreach(file ${files})
        string(REGEX REPLACE ".*/test_(.*)\\.py" "\\1" name ${file})
        modc_test(python_${name} python ${MODC_PYTHON} ${file})
        modc_compiles(python_${name} ${CMAKE_C_COMPILER} "MODC_EXECUTABLE=$<TARGET_FILE:modc>")
        set_tests_properties(python_${name} PROPERTIES SKIP_RETURN_CODE 77) # without a package that it needs
    endforeach()
endfunction()

# What modc prints of modules is what PyTorch prints.
function(modc_repr_tests)
    if(NOT MODC_PYTHON)
        return()
    endif()
    modc_test(reprs vectors ${MODC_PYTHON} tests/support/reprs.py $<TARGET_FILE:modc> ${CMAKE_CURRENT_BINARY_DIR}/reprs)
    set_property(TEST reprs PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
endfunction()

# tests/generation: what transformers wrote with small models; with few rows and short pages, too.
function(modc_generation_tests)
    if(NOT MODC_PYTHON)
        return()
    endif()
    set(parts --set rows=5 --set page=4)
    file(GLOB families CONFIGURE_DEPENDS generation/*.txt)
    foreach(family ${families})
        get_filename_component(name ${family} NAME_WE)
        set(command ${MODC_PYTHON} tests/support/generation.py $<TARGET_FILE:modc> ${CMAKE_CURRENT_BINARY_DIR}/generation ${name})
        modc_test(generation_${name} vectors ${command})
        modc_compiles(generation_${name} ${CMAKE_C_COMPILER} "CFLAGS=-O1")
        if(name MATCHES "gpt2|mamba|t5")
            modc_test(generation_${name}_parts vectors ${command} ${parts})
            modc_compiles(generation_${name}_parts ${CMAKE_C_COMPILER} "CFLAGS=-O1")
        endif()
        modc_soak_test(generation_${name} ${command} ${parts})
        if(MODC_LONG_TESTS AND name MATCHES "gpt2|mamba|t5")
            modc_test(generation_${name}_checked long ${command} ${parts} --set rows=7)
            modc_compiles(generation_${name}_checked ${MODC_SANITIZER} "CFLAGS=${MODC_CHECKS}")
        endif()
    endforeach()
endfunction()

# tests/tokens: what `tokenizers` said of small tokenizers, by `modc tokenize` and by what is emitted; with the package random
# texts against it.
function(modc_tokenizer_tests)
    if(NOT MODC_PYTHON)
        return()
    endif()
    modc_test(tokens vectors ${MODC_PYTHON} tests/support/tokens.py $<TARGET_FILE:modc>)
    file(GLOB tokenizers CONFIGURE_DEPENDS tokens/*.json)
    foreach(tokenizer ${tokenizers})
        get_filename_component(name ${tokenizer} NAME_WE)
        modc_test(sanitize_tokens_${name} sanitize ${MODC_PYTHON} tests/support/tokens.py --emitted $<TARGET_FILE:modc> ${name})
        modc_compiles(sanitize_tokens_${name} ${MODC_SANITIZER} "CFLAGS=${MODC_CHECKS}")
    endforeach()
    if(MODC_LONG_TESTS OR MODC_SOAK)
        modc_find_python(MODC_TOKENIZERS_PYTHON tokenizers)
    endif()
    if(MODC_TOKENIZERS_PYTHON)
        file(GLOB paths CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} tokens/*.json)
        set(random ${MODC_TOKENIZERS_PYTHON} tests/oracle/tokens_random.py --modc $<TARGET_FILE:modc> ${paths})
        if(MODC_LONG_TESTS)
            modc_test(long_tokens long ${random} --count 20000)
            modc_test(long_tokens_large long ${random} --long)
            modc_test(long_tokens_unicode long ${MODC_TOKENIZERS_PYTHON} tests/oracle/unicode_tables.py --check)
        endif()
        modc_soak_test(tokens ${random} --count 1000000)
        modc_soak_test(tokens_characters ${random} --characters)
    endif()
endfunction()

# tests/templates: what transformers made of turns by chat templates, by what is emitted; with the package random turns and random
# templates against it.
function(modc_template_tests)
    if(NOT MODC_PYTHON)
        return()
    endif()
    set(script tests/support/chats.py $<TARGET_FILE:modc>)
    modc_test(templates vectors ${MODC_PYTHON} ${script})
    modc_compiles(templates ${CMAKE_C_COMPILER} "CFLAGS=-O2")
    modc_test(sanitize_templates sanitize ${MODC_PYTHON} ${script})
    modc_compiles(sanitize_templates ${MODC_SANITIZER} "CFLAGS=${MODC_CHECKS}")
    if(MODC_LONG_TESTS OR MODC_SOAK)
        modc_find_python(MODC_TRANSFORMERS_PYTHON transformers jinja2)
    endif()
    if(MODC_TRANSFORMERS_PYTHON)
        set(turns ${MODC_TRANSFORMERS_PYTHON} tests/oracle/templates.py --modc $<TARGET_FILE:modc>)
        set(random ${MODC_TRANSFORMERS_PYTHON} tests/oracle/templates_random.py --modc $<TARGET_FILE:modc>)
        if(MODC_LONG_TESTS)
            modc_test(long_templates long ${turns} --count 2000)
            modc_test(long_templates_random long ${random} --count 1000)
            modc_compiles(long_templates ${MODC_SANITIZER} "CFLAGS=${MODC_CHECKS}")
            modc_compiles(long_templates_random ${MODC_SANITIZER} "CFLAGS=${MODC_CHECKS}")
        endif()
        modc_soak_test(templates ${turns} --count 100000)
        modc_soak_test(templates_random ${random} --count 50000)
    endif()
endfunction()

# Random patterns and JSON schemas: what automata take of random texts.
function(modc_grammar_tests)
    if(NOT MODC_PYTHON)
        return()
    endif()
    add_executable(modc_grammar support/grammar.c)
    target_link_libraries(modc_grammar PRIVATE modc_generator modc_runtime)
    modc_compile(modc_grammar)
    set(random ${MODC_PYTHON} tests/support/grammar.py $<TARGET_FILE:modc_grammar>)
    modc_test(grammar unit ${random} 300 150)
    if(MODC_LONG_TESTS)
        modc_test(long_grammar long ${random} 500 250 2)
    endif()
    modc_soak_test(grammar ${random} 200000 50000 3)
endfunction()

# n-step returns and estimates of returns, against torchrl's results.
function(modc_rollout_tests)
    if(MODC_PYTHON)
        modc_test(rollouts vectors ${MODC_PYTHON} tests/oracle/rollout.py --modc $<TARGET_FILE:modc> --count 10)
        modc_compiles(rollouts ${CMAKE_C_COMPILER})
    endif()
endfunction()

# The examples of reinforcement learning: what they learn, in how much memory.
function(modc_cartpole_tests)
    if(MODC_PYTHON)
        modc_test(cartpole examples ${MODC_PYTHON} tests/support/cartpole.py $<TARGET_FILE:modc>
                  ${CMAKE_CURRENT_BINARY_DIR}/cartpole)
        modc_compiles(cartpole ${CMAKE_C_COMPILER} "CHECKED=$<TARGET_FILE:modc_once> ${MODC_SANITIZER} ${MODC_CHECKS}")
    endif()
endfunction()

# `update: fused` gives the same bits as gradients that are kept.
function(modc_fused_tests)
    if(NOT MODC_PYTHON)
        return()
    endif()
    modc_test(fused_steps_sanitize sanitize ${MODC_PYTHON} tests/support/fused.py $<TARGET_FILE:modc>)
    modc_compiles(fused_steps_sanitize ${MODC_SANITIZER}
                 "CFLAGS=${MODC_CHECKS} -Wall -Wextra -Wconversion -Werror")
    if(MODC_CXX)
        modc_test(fused_steps_cuda cuda ${MODC_PYTHON} tests/support/fused.py $<TARGET_FILE:modc> cuda)
        modc_compiles(fused_steps_cuda ${CMAKE_C_COMPILER} "CFLAGS=-O1" "CXX=$<TARGET_FILE:modc_once> ${MODC_CXX}"
                      "CXXFLAGS=-O1")
    endif()
endfunction()

# modc_reset_test(NAME COMPILER FLAGS [SPECS...]): initial weights of tests/resets, bit for bit PyTorch's.
function(modc_reset_test name compiler flags)
    if(NOT MODC_PYTHON OR NOT compiler)
        return()
    endif()
    modc_test(resets_${name} vectors ${MODC_PYTHON} tests/support/resets.py $<TARGET_FILE:modc>
              ${CMAKE_CURRENT_BINARY_DIR}/resets/${name} ${ARGN})
    modc_compiles(resets_${name} ${compiler} "CFLAGS=${flags}")
endfunction()

# Whatever the flags allow a compiler to do with sums and products elsewhere.
function(modc_reset_tests)
    modc_reset_test(O0 ${CMAKE_C_COMPILER} "${MODC_CHECKS}" draws)
    modc_reset_test(O1 ${CMAKE_C_COMPILER} -O1 lazy memory)
    modc_reset_test(fused ${CMAKE_C_COMPILER} "-O1 -march=native -ffp-contract=fast" draws)
    modc_reset_test(unsafe ${CMAKE_C_COMPILER} "-O1 -march=native -funsafe-math-optimizations" draws)
    modc_reset_test(O3 "${MODC_CLANG}" "-O3 -march=native -ffp-contract=fast -funsafe-math-optimizations" draws)
    if(MODC_QEMU AND MODC_AARCH64 AND MODC_PYTHON)
        modc_reset_test(aarch64 ${MODC_AARCH64} "-O1 -static" draws)
        set_property(TEST resets_aarch64 APPEND PROPERTY ENVIRONMENT "RUNNER=${MODC_QEMU} -L /usr/aarch64-linux-gnu")
    endif()
endfunction()

# The CMake files that modc writes, and a folder that compiles alone.
function(modc_bundle_tests)
    modc_test(bundle api tests/support/bundle.sh $<TARGET_FILE:modc> ${CMAKE_CURRENT_BINARY_DIR}/bundle)
    modc_builds(bundle)
endfunction()

# What `summary --measure` says of compilers that are here.
function(modc_measure_tests)
    modc_test(measure api tests/support/measure.sh $<TARGET_FILE:modc> ${CMAKE_CURRENT_BINARY_DIR}/measure)
    set_property(TEST measure PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
    foreach(compiler ARM CLANG)
        if(MODC_${compiler})
            set_property(TEST measure APPEND PROPERTY ENVIRONMENT "${compiler}=${MODC_${compiler}}")
        endif()
    endforeach()
endfunction()

# modc_variant_tests(CASES...): vectors by the other compiler, for every width of vectors that the emitted text chooses
# from and this machine has.
function(modc_variant_tests)
    if(NOT MODC_PYTHON)
        return()
    endif()
    if(CMAKE_C_COMPILER_ID MATCHES "Clang")
        find_program(MODC_GCC NAMES gcc DOC "Second C compiler for tests of emitted code")
        modc_variant_test(gcc "${MODC_GCC}" "-O2 -march=native" ${ARGN})
    else()
        modc_variant_test(clang "${MODC_CLANG}" "-O2 -march=native" ${ARGN})
    endif()
    modc_variant_test(scalar ${CMAKE_C_COMPILER} "-O1 -DMODC_LANES=1" ${ARGN})
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        foreach(level x86-64 x86-64-v3 x86-64-v4) # of one program
            modc_variant_test(${level} ${CMAKE_C_COMPILER} "-O2 -march=${level}" DISPATCH ${level} ${ARGN})
        endforeach()
    endif()
endfunction()

# modc_variant_test(NAME COMPILER FLAGS [DISPATCH ISA] CASES...): if there is this compiler, and this machine can run what
# it makes. With DISPATCH the flags are those of one of the instruction sets of a program.
function(modc_variant_test name compiler flags)
    cmake_parse_arguments(PARSE_ARGV 3 arg "" "DISPATCH" "")
    set(CMAKE_REQUIRED_FLAGS ${flags})
    string(MAKE_C_IDENTIFIER MODC_RUNS_variant_${name} variable)
    check_c_source_runs("${MODC_CPU_CHECK}" ${variable})
    if(NOT compiler OR NOT ${variable})
        return()
    endif()
    set(keep ${CMAKE_CURRENT_BINARY_DIR}/programs/${name})
    set(dispatch)
    if(arg_DISPATCH)
        set(keep ${CMAKE_CURRENT_BINARY_DIR}/programs/dispatch)
        set(dispatch --dispatch ${arg_DISPATCH})
        set(flags -O2) # equal for all, so that one program is compiled; its files have their own besides
    endif()
    foreach(case ${arg_UNPARSED_ARGUMENTS})
        modc_test(variant_${name}_${case} variants ${MODC_PYTHON} tests/oracle/vectors.py --modc $<TARGET_FILE:modc>
                  --jobs 1 --keep ${keep} ${dispatch} ${case})
        modc_compiles(variant_${name}_${case} ${compiler} "CFLAGS=${flags}")
        modc_shares(variant_${name}_${case} ${keep} "${case} ${case}")
    endforeach()
endfunction()

# modc_aarch64_tests(CASES...): of tests/vectors/cases.txt, cross-compiled and emulated.
function(modc_aarch64_tests)
    if(NOT MODC_AARCH64 OR NOT MODC_QEMU OR NOT MODC_PYTHON)
        return()
    endif()
    foreach(case ${ARGN})
        modc_test(aarch64_${case} aarch64 tests/support/cross.sh $<TARGET_FILE:modc>
                  ${CMAKE_CURRENT_BINARY_DIR}/aarch64/${case} ${case})
        modc_compiles(aarch64_${case} ${MODC_AARCH64} "CFLAGS=-O2 -static"
                     "RUNNER=${MODC_QEMU} -L /usr/aarch64-linux-gnu" "PYTHON=${MODC_PYTHON}")
    endforeach()
endfunction()

# modc_firmware_tests(SPECS...): linked for three targets with libgcc alone; "SPEC -lm": with libm too.
function(modc_firmware_tests)
    if(NOT MODC_ARM)
        return()
    endif()
    set(flags_cortex-m4f "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard")
    set(flags_cortex-m33 "-mcpu=cortex-m33 -mfloat-abi=soft")
    set(flags_cortex-m0 "-mcpu=cortex-m0")
    foreach(words ${ARGN})
        separate_arguments(words UNIX_COMMAND ${words})
        list(GET words 0 spec)
        get_filename_component(name ${spec} NAME_WE)
        foreach(target cortex-m4f cortex-m33 cortex-m0)
            modc_test(firmware_${name}_${target} compile tests/support/firmware.sh $<TARGET_FILE:modc>
                      ${CMAKE_CURRENT_BINARY_DIR}/firmware/${name}_${target} ${target} ${words})
            modc_compiles(firmware_${name}_${target} ${MODC_ARM} "CFLAGS=${flags_${target}}")
        endforeach()
    endforeach()
endfunction()

# Libraries for Arduino; with the firmware's compiler, of which newlib is asked for too.
function(modc_arduino_test)
    if(MODC_ARM AND MODC_PYTHON)
        modc_test(arduino compile tests/support/arduino.sh $<TARGET_FILE:modc> ${CMAKE_CURRENT_BINARY_DIR}/arduino)
        modc_compiles(arduino ${MODC_ARM} "PYTHON=${MODC_PYTHON}")
    endif()
endfunction()

# What pages of docs/ show (those of examples/: modc_package_tests); docs/layers is what modc makes of its tables. Target
# update-docs.
function(modc_docs_tests)
    if(MODC_PYTHON)
        modc_test(docs_sentences docs ${MODC_PYTHON} tests/support/sentences.py)
    endif()
    modc_test(docs_of_layers docs ${PROJECT_SOURCE_DIR}/tests/support/docs_of_layers.sh $<TARGET_FILE:modc>
              ${CMAKE_CURRENT_BINARY_DIR}/docs/of_layers)
    add_custom_target(update-docs VERBATIM WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                      COMMAND ${CMAKE_COMMAND} -E rm -rf docs/layers
                      COMMAND modc layers -o docs/layers)
    if(NOT MODC_PYTHON)
        return()
    endif()
    file(GLOB pages CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/docs/*.md)
    foreach(page ${pages})
        get_filename_component(name ${page} NAME_WE)
        modc_test(docs_${name} docs ${MODC_PYTHON} tests/support/docs.py $<TARGET_FILE:modc>
                  ${CMAKE_CURRENT_BINARY_DIR}/docs/${name} docs/${page})
    endforeach()
endfunction()

# modc_chip_test(CHIP "INPUTS INPUT EXPECTED NAME" SPEC OPTIONS...): an image for a chip, run where there is an emulator;
# NAME is the expected tensor of a model with one output.
function(modc_chip_test chip data spec)
    if(NOT MODC_ARM)
        return()
    endif()
    get_filename_component(name ${spec} NAME_WE)
    modc_test(chip_${chip}_${name} compile tests/support/chip.sh $<TARGET_FILE:modc>
              ${CMAKE_CURRENT_BINARY_DIR}/chip/${chip}_${name} ${chip} ${data} ${spec} ${ARGN})
    set_property(TEST chip_${chip}_${name} PROPERTY ENVIRONMENT "CC=${MODC_ARM}")
    if(MODC_QEMU_ARM)
        set_property(TEST chip_${chip}_${name} APPEND PROPERTY ENVIRONMENT "RUNNER=${MODC_QEMU_ARM} -cpu max")
    endif()
endfunction()

function(modc_chip_tests)
    set(digits "specs/digits/test.safetensors images specs/digits/expect.safetensors")
    modc_chip_test(stm32f411 "${digits} cnn" specs/digits/cnn.yaml
                   --weights specs/digits/weights_cnn.safetensors --set batch=1)
    set(case build/vectors/dynamic_chip)
    modc_chip_test(stm32f411 "${case}/inputs.safetensors image ${case}/expect.safetensors output" tests/specs/dynamic_chip.yaml
                   --weights ${case}/weights.safetensors --set batch=1)
    set(case build/vectors/integers_chip)
    modc_chip_test(stm32f411 "${case}/inputs.safetensors image ${case}/expect.safetensors output" tests/specs/integers_chip.yaml
                   --weights ${case}/weights.safetensors)
    set(case tests/calibrated/layers)
    modc_chip_test(stm32f411 "${case}.inputs.safetensors x ${case}.expect.safetensors output" ${case}.yaml
                   --weights ${case}.weights.safetensors --set batch=1)
    modc_chip_test(nrf51822 "${digits} mlp" specs/digits/mlp.yaml
                   --weights specs/digits/weights_mlp.safetensors --set batch=1)
    modc_chip_test(stm32f103c8 "specs/cartpole/observations.safetensors observation specs/cartpole/expect.safetensors -"
                   specs/cartpole/policy.yaml --weights specs/cartpole/weights.safetensors --set batch=1)
endfunction()

# Of equal layers there is one text: lines of C by depth, and the work of the generator where its comparisons are counted.
function(modc_growth_tests)
    if(NOT MODC_PYTHON)
        return()
    endif()
    set(work ${CMAKE_CURRENT_BINARY_DIR}/growth)
    set(script ${MODC_PYTHON} tests/support/growth.py)
    modc_test(growth_lines text ${script} $<TARGET_FILE:modc> ${work}/lines)
    add_custom_target(update-growth VERBATIM WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                      COMMAND ${script} --update $<TARGET_FILE:modc> ${work}/lines || true)
    add_dependencies(update-growth modc)
    if(MODC_SANITIZE MATCHES "fuzzer-no-link")
        add_executable(modc_steps support/steps.c ${PROJECT_SOURCE_DIR}/generator/commands/main.c)
        target_link_libraries(modc_steps PRIVATE modc_generator)
        modc_compile(modc_steps)
        set_source_files_properties(support/steps.c PROPERTIES COMPILE_OPTIONS -fno-sanitize-coverage=trace-cmp)
        modc_test(growth_steps unit ${script} --work $<TARGET_FILE:modc_steps> ${work}/steps)
    endif()
endfunction()

# What typical edits of specs change in what is emitted.
function(modc_review_tests)
    if(MODC_PYTHON)
        set(script ${MODC_PYTHON} tests/support/review.py)
        modc_test(review text ${script} $<TARGET_FILE:modc> ${CMAKE_CURRENT_BINARY_DIR}/review)
        add_custom_target(update-review VERBATIM WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                          COMMAND ${script} --update $<TARGET_FILE:modc> ${CMAKE_CURRENT_BINARY_DIR}/review || true)
        add_dependencies(update-review modc)
    endif()
endfunction()

# What backward computes again.
function(modc_checkpoint_tests)
    if(MODC_PYTHON)
        modc_test(checkpoint compile ${MODC_PYTHON} tests/support/checkpoint.py $<TARGET_FILE:modc>
                  ${CMAKE_CURRENT_BINARY_DIR}/checkpoint tests/specs/checkpoint.yaml build/vectors/checkpoint/inputs.safetensors)
        set_property(TEST checkpoint PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
    endif()
endfunction()

# The programs of bench/: their C compiles, and where bench/setup has been they agree on numbers. Nothing is timed.
function(modc_bench_tests)
    add_library(modc_bench OBJECT ${PROJECT_SOURCE_DIR}/bench/clock.c ${PROJECT_SOURCE_DIR}/bench/peer_ort.c
                ${PROJECT_SOURCE_DIR}/bench/peer_gpu.c ${PROJECT_SOURCE_DIR}/bench/peer_modc.c
                ${PROJECT_SOURCE_DIR}/bench/peer_train.c)
    set_target_properties(modc_bench PROPERTIES C_EXTENSIONS ON) # as bench/clock.py compiles them
    target_compile_definitions(modc_bench PRIVATE MODC_MODEL=policy_model)
    target_include_directories(modc_bench PRIVATE ${PROJECT_SOURCE_DIR}/runtime ${PROJECT_SOURCE_DIR}/runtime/driver
                               ${PROJECT_SOURCE_DIR}/runtime/cuda_host)
    modc_compile(modc_bench)
    if(NOT MODC_SANITIZE)
        modc_test(bench_numbers bench tests/support/bench.sh $<TARGET_FILE:modc> ${CMAKE_CURRENT_BINARY_DIR}/bench)
        set_tests_properties(bench_numbers PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
    endif()
endfunction()

# Random specs against the PyTorch that is installed, and whether they draw every row of the catalogue.
function(modc_long_tests)
    if(MODC_LONG_TESTS AND MODC_PYTHON)
        file(GLOB networks CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/specs/networks
             ${PROJECT_SOURCE_DIR}/specs/networks/*.yaml)
        foreach(network ${networks})
            string(REPLACE ".yaml" "" network ${network})
            if(network MATCHES "gpt2|unet" AND NOT MODC_SOAK) # large, of kernels that llama, bert and the autoencoder have
                continue()
            endif()
            modc_test(network_${network} long ${MODC_PYTHON} tests/oracle/networks.py --modc $<TARGET_FILE:modc> ${network})
            modc_compiles(network_${network} ${CMAKE_C_COMPILER} "CFLAGS=-O1 -march=native -Wall -Wextra -Werror")
        endforeach()
        modc_test(long_oracle_own long ${MODC_PYTHON} tests/oracle/test_oracle.py)
        modc_test(long_oracle_faults long ${MODC_PYTHON} tests/oracle/faults.py --check)
        modc_test(long_oracle_rows long ${MODC_PYTHON} tests/oracle/rows.py --modc $<TARGET_FILE:modc>)
        modc_test(long_oracle_defaults long ${MODC_PYTHON} tests/oracle/defaults.py --modc $<TARGET_FILE:modc>)
        modc_compiles(long_oracle_defaults ${CMAKE_C_COMPILER})
        modc_test(long_oracle_returns long ${MODC_PYTHON} tests/oracle/returns.py)
        modc_test(long_oracle_vision long ${MODC_PYTHON} tests/oracle/vision.py)
        set_tests_properties(long_oracle_returns long_oracle_vision PROPERTIES SKIP_RETURN_CODE 77)
        modc_test(long_oracle long ${MODC_PYTHON} tests/oracle/live.py --modc $<TARGET_FILE:modc> --count 12)
        set_tests_properties(long_oracle PROPERTIES TIMEOUT 1200 PROCESSORS 2)
        modc_compiles(long_oracle ${CMAKE_C_COMPILER})
        modc_test(long_oracle_cuda long ${MODC_PYTHON} tests/oracle/live.py --modc $<TARGET_FILE:modc> --count 16 --flags cuda)
        set_tests_properties(long_oracle_cuda PROPERTIES TIMEOUT 1200 PROCESSORS 2)
        modc_compiles(long_oracle_cuda ${CMAKE_C_COMPILER})
        modc_soak_test(oracle ${MODC_PYTHON} tests/oracle/live.py --modc $<TARGET_FILE:modc> --seed 100000 --count 2000)
        if(TEST soak_oracle)
            set_tests_properties(soak_oracle PROPERTIES PROCESSORS 2)
            modc_compiles(soak_oracle ${CMAKE_C_COMPILER})
        endif()
    endif()
endfunction()

# modc_shares_of_runs(): what is long is in four shares, of which scripts/test.sh runs one, by the labels share0 to share3; a test with the
# label share02 is in two. Tests of a label take turns, and so do those of modc_first; those that share a program stay together, and of a
# case that is run with sanitizers and without, each run has one or the other.
function(modc_shares_of_runs)
    set(long aarch64 api compile cuda determinism docs examples failing fuzz layers long package planner python sanitize variants
        vectors)
    get_property(tests DIRECTORY PROPERTY TESTS)
    get_property(first GLOBAL PROPERTY modc_first)
    list(REMOVE_ITEM tests ${first})
    foreach(test ${first} ${tests})
        get_property(labels TEST ${test} PROPERTY LABELS)
        get_property(setup TEST ${test} PROPERTY FIXTURES_SETUP)
        get_property(program TEST ${test} PROPERTY RESOURCE_LOCK)
        list(GET labels 0 label)
        if(setup OR NOT label IN_LIST long)
            continue()
        endif()
        set(group ${label})
        if(test IN_LIST first)
            set(group first)
        endif()
        set(key ${test})
        if(program)
            set(key ${program})
        endif()
        if(label MATCHES "^(sanitize|vectors)$")
            set(group numbers)
            string(REGEX REPLACE "^(sanitize|plain):|^(sanitize|vectors)_" "" key ${key})
        endif()
        string(REGEX REPLACE "^determinism_other_" "determinism_" key ${key})
        string(MAKE_C_IDENTIFIER "share of ${group} ${key}" share)
        if(NOT DEFINED ${share})
            if(NOT DEFINED next_${group})
                set(next_${group} 0)
            endif()
            set(${share} ${next_${group}})
            math(EXPR next_${group} "(${next_${group}} + 1) % 4")
        endif()
        foreach(later RANGE 1 3)
            math(EXPR share_${later} "(${${share}} + ${later}) % 4")
        endforeach()
        set(shares ${${share}})
        if(label STREQUAL sanitize)
            set(shares ${share_1}${share_3})
        elseif(test MATCHES "^vectors_") # what else has this label is run in one way alone
            set(shares ${${share}}${share_2})
        elseif(test MATCHES "^determinism_other_")
            set(shares ${share_2})
        endif()
        set_property(TEST ${test} APPEND PROPERTY LABELS share${shares})
    endforeach()
endfunction()
