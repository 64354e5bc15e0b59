# The suites of tests/: what stands there is found by name, so that a new case is a new file and nothing else.
# Every test has one label: unit, header, golden, errors, vectors, compile, sanitize or long.

include(CheckCSourceRuns)
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
if(NOT CMOCKA_FOUND)
    message(WARNING "cmocka is missing: no unit tests")
endif()
find_program(MODC_CXX NAMES g++ c++ clang++ DOC "C++ compiler for tests of headers")
find_program(MODC_CLANG NAMES clang DOC "Second C compiler for tests of emitted code")
find_program(MODC_AARCH64 NAMES aarch64-linux-gnu-gcc DOC "Cross compiler for tests of emitted code")
find_program(MODC_ARM NAMES arm-none-eabi-gcc DOC "Firmware compiler for tests of emitted code")
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

# modc_test(NAME LABEL COMMAND...): run from the root of the repository.
function(modc_test name label)
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()

function(modc_unit_program program source)
    string(REGEX REPLACE "^test_" "unit_" name ${program})
    add_executable(${program} ${source})
    target_link_libraries(${program} PRIVATE modc_generator modc_runtime PkgConfig::CMOCKA)
    target_compile_definitions(${program} PRIVATE _POSIX_C_SOURCE=200809L)
    modc_compile(${program})
    modc_test(${name} unit ${program})
    set_property(TEST ${name} PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
endfunction()

# tests/unit/test_<room>.c: one program a room, with the generator, the runtime and cmocka.
function(modc_unit_tests)
    if(NOT CMOCKA_FOUND)
        return()
    endif()
    file(GLOB sources CONFIGURE_DEPENDS unit/test_*.c)
    foreach(source ${sources})
        get_filename_component(program ${source} NAME_WE)
        modc_unit_program(${program} ${source})
    endforeach()
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

# Every header compiles on its own. (Included: as a file of its own, clang says that its functions are unused.)
function(modc_header_tests)
    set(c ${CMAKE_C_COMPILER} ${MODC_WARNINGS} -Werror -fsyntax-only -x c /dev/null)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/generator/*.h)
    foreach(header ${headers})
        modc_test(header_${header} header ${c} -std=c11 -Igenerator -include ${header})
    endforeach()

    file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/runtime/*.h)
    list(FILTER headers EXCLUDE REGEX cuda) # those need CUDA's own
    foreach(header ${headers})
        modc_test(header_${header}_c99 header ${c} -std=c99 -Wconversion -include ${header})
        modc_test(header_${header}_c11 header ${c} -std=c11 -Wconversion -include ${header})
        if(MODC_CXX)
            modc_test(header_${header}_c++17 header ${MODC_CXX} ${MODC_CXX_WARNINGS} -Werror -fsyntax-only
                      -x c++ /dev/null -std=c++17 -include ${header})
        endif()
    endforeach()
endfunction()

# tests/errors/<case>.yaml with <case>.err: what `modc check` says, byte for byte. Target update-errors.
function(modc_error_tests)
    set(script -DMODC=$<TARGET_FILE:modc> -DDIR=${CMAKE_CURRENT_SOURCE_DIR}/errors
        -DWORK=${CMAKE_CURRENT_BINARY_DIR}/errors)
    file(GLOB specs CONFIGURE_DEPENDS errors/*.yaml)
    foreach(spec ${specs})
        get_filename_component(case ${spec} NAME_WLE)
        modc_test(errors_${case} errors ${CMAKE_COMMAND} ${script} -DCASE=${case}
                  -P ${CMAKE_CURRENT_SOURCE_DIR}/support/errors.cmake)
    endforeach()
    modc_test(errors_complete errors ${CMAKE_COMMAND} ${script} -DCOMPLETE=ON
              -P ${CMAKE_CURRENT_SOURCE_DIR}/support/errors.cmake)
    add_custom_target(update-errors VERBATIM
                      COMMAND ${CMAKE_COMMAND} ${script} -DUPDATE=ON
                              -P ${CMAKE_CURRENT_SOURCE_DIR}/support/errors.cmake)
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

# tests/vectors/cases.txt: inputs and outputs of PyTorch through `modc run`; once more with sanitizers.
function(modc_vector_tests)
    if(NOT MODC_PYTHON)
        message(WARNING "python3 is missing: no tests of numbers")
        return()
    endif()
    set(sanitize "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all")
    modc_cases(${CMAKE_CURRENT_SOURCE_DIR}/vectors/cases.txt lines)
    foreach(line ${lines})
        string(REGEX MATCH "^[^ ]+" name ${line})
        set(command ${MODC_PYTHON} tests/oracle/vectors.py --modc $<TARGET_FILE:modc> --jobs 1 ${name})
        modc_test(vectors_${name} vectors ${command})
        modc_test(sanitize_${name} sanitize ${command})
        set_property(TEST vectors_${name} sanitize_${name} APPEND PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
        set_property(TEST sanitize_${name} APPEND PROPERTY ENVIRONMENT "CFLAGS=${sanitize}")
    endforeach()
endfunction()

# What is emitted for every spec of specs/ and tests/specs/ compiles without a warning: C99 with every compiler that is
# here, for the host and for other machines; its header as C++ too.
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
    file(GLOB_RECURSE specs CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
         ${PROJECT_SOURCE_DIR}/specs/*.yaml ${PROJECT_SOURCE_DIR}/tests/specs/*.yaml)
    foreach(spec ${specs})
        modc_test(compile_${spec} compile ${CMAKE_COMMAND} -DMODC=$<TARGET_FILE:modc> -DSPEC=${spec}
                  -DROOT=${PROJECT_SOURCE_DIR} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/compile/${spec}
                  -DCOMPILERS=${compilers} -DCXX=${MODC_CXX} -DWARNINGS=${warnings} -DCXX_WARNINGS=${cxx_warnings}
                  -P ${CMAKE_CURRENT_SOURCE_DIR}/support/compile.cmake)
    endforeach()
endfunction()

# Random specs against the PyTorch that is installed.
function(modc_long_tests)
    if(MODC_LONG_TESTS AND MODC_PYTHON)
        modc_test(long_oracle long ${MODC_PYTHON} tests/oracle/live.py --modc $<TARGET_FILE:modc>)
        set_tests_properties(long_oracle PROPERTIES TIMEOUT 1200 PROCESSORS 2)
    endif()
endfunction()
