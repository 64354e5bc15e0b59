# Generates a spec and compiles what came out: every .c with every compiler, the headers also as C++.
#
#     cmake -DMODC=... -DSPEC=... -DROOT=. -DWORK=... -DCOMPILERS=A,B -DWARNINGS=-Wall,...
#           -DCXX=... -DCXX_WARNINGS=... [-DFLAGS=...] [-DOPTIMIZED=-O2] -P compile.cmake
#
# With FLAGS those are the compilers' only ones. With OPTIMIZED gcc makes code; of other specs the vectors' programs are
# made under the same warnings.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/compare.cmake)

foreach(list COMPILERS WARNINGS CXX_WARNINGS)
    string(REPLACE "," ";" ${list} "${${list}}")
endforeach()

function(run)
    execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${ROOT} RESULT_VARIABLE status
                    OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(status)
        list(JOIN ARGV " " command)
        fault("exit status ${status}: ${command}" "${said}")
    endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${MODC} generate ${SPEC} -o ${WORK})
file(GLOB sources ${WORK}/*.c)
file(GLOB headers ${WORK}/*.h)
if(NOT sources OR NOT headers)
    message(FATAL_ERROR "${SPEC}: no .c, or no .h, was written")
endif()
set(strict -Werror -I${WORK} -Iruntime)
foreach(compiler ${COMPILERS})
    execute_process(COMMAND ${compiler} -dumpmachine OUTPUT_VARIABLE machine)
    set(kinds "-O0 -fsyntax-only")
    if(FLAGS)
        set(kinds ${FLAGS})
    elseif(machine MATCHES "^x86_64") # every width that the emitted text chooses from
        list(APPEND kinds "-march=x86-64-v3 -fsyntax-only" "-DMODC_LANES=1 -fsyntax-only" "-march=x86-64-v4 -fsyntax-only")
        # gcc's optimiser finds what parsers do not; code of the others is made by the suites that run it.
        execute_process(COMMAND ${compiler} --version OUTPUT_VARIABLE version)
        if(NOT version MATCHES "clang")
            list(APPEND kinds ${OPTIMIZED})
        endif()
    elseif(machine MATCHES "^arm-none-eabi")
        set(kinds "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -fsyntax-only"
                  "-mcpu=cortex-m0 -mthumb -fsyntax-only")
    endif()
    foreach(source ${sources})
        foreach(kind ${kinds})
            separate_arguments(flags UNIX_COMMAND ${kind})
            run(${compiler} -std=c99 ${WARNINGS} -Wconversion ${strict} ${flags} -c -o ${WORK}/out.o ${source})
        endforeach()
    endforeach()
endforeach()
# Sources include them first: in other languages. (Included: of files, clang says that functions are unused.)
list(GET COMPILERS 0 compiler)
foreach(header ${headers})
    run(${compiler} -std=c11 ${WARNINGS} -Wconversion ${strict} -fsyntax-only -x c /dev/null -include ${header})
    if(CXX)
        run(${CXX} -std=c++17 ${CXX_WARNINGS} ${strict} -fsyntax-only -x c++ /dev/null -include ${header})
    endif()
endforeach()
