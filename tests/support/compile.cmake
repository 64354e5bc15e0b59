# Generates a spec and compiles what came out: every .c with every compiler, the headers also as C++.
#
#     cmake -DMODC=... -DSPEC=... -DROOT=. -DWORK=... -DCOMPILERS=A,B -DWARNINGS=-Wall,...
#           -DCXX=... -DCXX_WARNINGS=... [-DFLAGS=...] -P compile.cmake
#
# With FLAGS those are the compilers' only ones.
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
    # gcc's optimiser finds what parsers do not; code of the others is made by the suites that run it.
    execute_process(COMMAND ${compiler} --version OUTPUT_VARIABLE version)
    set(kinds "-O0 -fsyntax-only")
    if(FLAGS)
        set(kinds ${FLAGS})
    elseif(machine MATCHES "^x86_64") # every width that the emitted text chooses from
        list(APPEND kinds "-march=x86-64-v3 -fsyntax-only" "-DMODC_LANES=1 -fsyntax-only")
        if(version MATCHES "clang")
            list(APPEND kinds "-march=x86-64-v4 -fsyntax-only")
        else()
            list(APPEND kinds "-O2" "-march=x86-64-v4 -fsyntax-only")
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
    foreach(header ${headers})
        foreach(standard c99 c11)
            run(${compiler} -std=${standard} ${WARNINGS} -Wconversion ${strict} -fsyntax-only -x c /dev/null -include ${header})
        endforeach()
    endforeach()
endforeach()
if(CXX)
    foreach(header ${headers})
        run(${CXX} -std=c++17 ${CXX_WARNINGS} ${strict} -fsyntax-only -x c++ /dev/null -include ${header})
    endforeach()
endif()
